"""`tdo serve`: a page for a browser that translates and explains, and its JSON interface."""

from __future__ import annotations

import argparse
import ipaddress
from dataclasses import fields, replace
from importlib.util import find_spec

from tdo_compat.errors import print_line, tell
from tdo_plugin.cli.served_models import model_options, opened_models
from tdo_plugin.errors import UserError

HELP = "translate on a page in the browser, see what the model read, compare two models"
EXAMPLE = "tdo serve tdo=runs/tdo prefix=runs/prefix"

PACKAGES = ("starlette", "uvicorn")
ENDING = 2.0  # seconds for the present search when the server ends
LIMITS = {
    "characters": "characters of a text",
    "sentences": "sentences of a text",
    "body": "bytes of a request",
    "rate": "sentences per minute and client, each counted once for each language",
    "waiting": "requests that wait for the models; more are refused for the moment",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    from tdo_plugin.serve.request_limits import Limits

    model_options(parser)
    network = parser.add_argument_group("network")
    add = network.add_argument
    add(
        "--host",
        default="127.0.0.1",
        metavar="NAME",
        help="name or address to listen at (default 127.0.0.1: this machine only; 0.0.0.0: all)",
    )
    add("--port", type=int, default=8000, metavar="N", help="port (default 8000; 0: any free one)")
    add(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="also answer requests under this name, such as a proxy's; repeatable",
    )
    add(
        "--trust-proxy",
        action="append",
        default=[],
        metavar="ADDRESS",
        help="address of a proxy, whose X-Forwarded-For header names the clients; repeatable",
    )
    add("--log-text", action="store_true", help="log the text of requests, not only its length")
    limits = parser.add_argument_group("limits")
    defaults = {field.name: field.default for field in fields(Limits)}
    for name, what in LIMITS.items():
        limits.add_argument(
            f"--max-{name}",
            type=int,
            default=defaults[name],
            metavar="N",
            help=f"{what} (default {defaults[name]})",
        )


def run(args: argparse.Namespace) -> int:
    """Load the models and serve until a signal."""
    check_packages()
    if not 0 <= args.port <= 65535:
        raise UserError(f"`--port` must be from 0 to 65535; it is {args.port}")
    proxies = [_address(proxy) for proxy in args.trust_proxy]
    from tdo_plugin.metrics.silence import quiet_libraries
    from tdo_plugin.serve.app import Application, build_app
    from tdo_plugin.serve.model_worker import ModelWorker
    from tdo_plugin.serve.request_limits import Limits
    from tdo_plugin.serve.server import (
        end_at_once,
        hosts_of,
        listening,
        reach_of,
        serve_until_signal,
        server_of,
        url_of,
    )

    limits = Limits(**{name: getattr(args, f"max_{name}") for name in LIMITS})
    limits.check()
    # before the models are loaded, which takes longer
    with listening(args.host, args.port) as opened, quiet_libraries():
        models = opened_models(args)
        limits = replace(limits, beam=args.beam)
        worker = ModelWorker(limits.waiting)
        application = Application(models, worker, limits, args.log_text)
        app = build_app(application, hosts_of(opened, args.allow_host), limits, tell)
        names = ", ".join(model.name for model in models)
        detectors = dict.fromkeys(
            model.detector.signature.partition(":")[0] if model.detector else "none"
            for model in models
        )
        print_line(
            f"{url_of(opened)} serves {names} (language detector: {', '.join(detectors)}); "
            "Ctrl+C ends it"
        )
        if warning := reach_of(opened):
            tell(warning)
        try:
            serve_until_signal(server_of(app, limits, proxies), opened)
        finally:
            has_ended = worker.close(ENDING)
        if not has_ended:
            end_at_once()
    return 0


def _address(proxy: str) -> str:
    try:
        return str(ipaddress.ip_address(proxy))
    except ValueError:
        raise UserError(f"`--trust-proxy` must be an IP address; it is {proxy}") from None


def check_packages() -> None:
    """Raise UserError if the server's packages are not installed."""
    from tdo_plugin.installation import line

    missing = [name for name in PACKAGES if find_spec(name) is None]
    if missing:
        from tdo_plugin.cli.doctor import requirements_of

        wanted = requirements_of("serve") or list(PACKAGES)
        raise UserError(
            f"`{missing[0]}` must be installed, to serve a page; it is not "
            f"({line('pip', 'install', *wanted)})"
        )
