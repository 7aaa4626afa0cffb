"""The web application: the page, and the JSON interface behind it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from tdo_compat.errors import lacks_memory, tell
from tdo_plugin.errors import UserError, line_or_traceback
from tdo_plugin.serve.json_requests import (
    RequestError,
    cost_of,
    detect_request,
    explain_request,
    gone,
    read_json,
    translate_request,
)
from tdo_plugin.serve.model_worker import BusyError, GivenUpError, ModelWorker, Progress
from tdo_plugin.serve.page import page, security_policy
from tdo_plugin.serve.request_guard import CHARGE, NOTE, Hosts, RequestGuard, error_response
from tdo_plugin.serve.request_limits import Limits
from tdo_plugin.serve.served_model import ALL, ServedModel

FRESH = {"Cache-Control": "no-store"}
WORDS = {404: "not-found", 405: "wrong-method"}


class Application:
    """Answers requests with some models.

    Args:
        models: at least one.
        worker: runs them.
        limits: of requests.
        log_text: whether log lines have the text.
    """

    def __init__(
        self,
        models: Sequence[ServedModel],
        worker: ModelWorker,
        limits: Limits,
        log_text: bool = False,
    ) -> None:
        self._models: Mapping[str, ServedModel] = {model.name: model for model in models}
        self._worker, self._limits, self._log_text = worker, limits, log_text
        self._page = page()
        self._listed = [{**model.description(), "examples": model.examples} for model in models]

    def routes(self) -> list[Route]:
        """All paths."""
        return [
            Route("/", self._answer_page, methods=["GET"]),
            Route("/health", self._health, methods=["GET"]),
            Route("/api/models", self._list_models, methods=["GET"]),
            Route("/api/detect", _answering(self._detect), methods=["POST"]),
            Route("/api/translate", _answering(self._translate), methods=["POST"]),
            Route("/api/explain", _answering(self._explain), methods=["POST"]),
        ]

    async def _answer_page(self, request: Request) -> Response:
        return HTMLResponse(self._page, headers={"Cache-Control": "no-cache"})

    async def _health(self, request: Request) -> Response:
        state = {"status": "ok", "models": len(self._models), "waiting": self._worker.waiting}
        return JSONResponse(state, headers=FRESH)

    async def _list_models(self, request: Request) -> Response:
        limits = {name: getattr(self._limits, name) for name in ("characters", "sentences", "beam")}
        return JSONResponse({"models": self._listed, "limits": limits}, headers=FRESH)

    async def _detect(self, request: Request) -> Any:
        name, text = detect_request(await read_json(request, self._limits), self._limits)
        model = self._model(name)
        self._note(request, name, text)
        # not behind the translations: it takes milliseconds, and people wait for it as they type
        return {"model": name, "source": await run_in_threadpool(model.source_of, text)}

    async def _translate(self, request: Request) -> Any:
        order = translate_request(await read_json(request, self._limits), self._limits)
        model = self._model(order.model)
        model.check(order.source, order.targets)
        targets = order.targets if isinstance(order.targets, str) else ",".join(order.targets)
        self._note(request, f"{order.model} {order.source}-{targets}", order.text)
        languages = len(model.languages) - 1 if order.targets == ALL else len(order.targets)
        return await self._run(
            request,
            lambda progress: model.translate(
                order.text, order.source, order.targets, order.beam, progress
            ),
            cost_of(order.text) * languages,
        )

    async def _explain(self, request: Request) -> Any:
        order = explain_request(await read_json(request, self._limits), self._limits)
        model = self._model(order.model)
        model.check_source(order.source)
        model.check_language("target", order.target)
        self._note(request, f"{order.model} {order.source}-{order.target}", order.text)
        return await self._run(
            request,
            lambda progress: model.explain(
                order.text, order.source, order.target, order.beam, progress=progress
            ),
            cost_of(order.text),
        )

    def _model(self, name: str) -> ServedModel:
        if name not in self._models:
            known = ", ".join(self._models)
            raise RequestError(400, "wrong", f"`model` must be one of {known}; it is {name[:80]}")
        return self._models[name]

    def _note(self, request: Request, what: str, text: str) -> None:
        about = repr(text) if self._log_text else f"{len(text)} characters"
        request.scope[NOTE] = f"{what} {about}"

    async def _run(self, request: Request, job: Callable[[Progress], Any], cost: int) -> Any:
        """The result of a job, which is given up if the client goes or the server ends.

        Args:
            request: whose client waits.
            job: see `ModelWorker.submit`.
            cost: tokens of the client's rate; one is taken already.
        """
        try:
            future = self._worker.submit(job)
        except BusyError as error:
            raise RequestError(
                503,
                "busy",
                f"`requests` must be at most {self._limits.waiting} at a time; they are more",
                {"Retry-After": str(error.seconds)},
            ) from None
        request.scope[CHARGE](cost - 1)
        answer = asyncio.wrap_future(future)
        left = asyncio.ensure_future(_disconnected(request))
        try:
            await asyncio.wait({answer, left}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            has_gone = left.done()
            left.cancel()
            if not answer.done():
                answer.cancel()
                future.give_up()
                future.add_done_callback(_log_late)
        if answer.cancelled():
            raise gone() if has_gone else _ending()
        return answer.result()


def build_app(
    application: Application, hosts: Hosts, limits: Limits, log: Callable[[str], None]
) -> RequestGuard:
    """The application behind its guard, for a server of the ASGI interface."""
    app = Starlette(routes=application.routes(), exception_handlers={HTTPException: _http_error})
    app.router.redirect_slashes = False
    return RequestGuard(app, hosts, limits, security_policy(served=True), log)


def _answering(endpoint: Callable[[Request], Awaitable[Any]]) -> Callable[[Request], Any]:
    """An endpoint that returns JSON, or the reason why it cannot."""

    async def answer(request: Request) -> Response:
        try:
            return JSONResponse(await endpoint(request), headers=FRESH)
        except RequestError as error:
            return error_response(error)
        except UserError as error:
            return error_response(RequestError(400, "wrong", str(error)))
        except (asyncio.CancelledError, GivenUpError):  # the server no longer waits for requests
            return error_response(_ending())
        except Exception as error:
            request.scope[NOTE] = line_or_traceback(error)
            if lacks_memory(error):
                return error_response(
                    RequestError(503, "memory", "`text` must be shorter; memory is exhausted")
                )
            return error_response(
                RequestError(500, "internal", "`server` must work; its log has the error")
            )

    return answer


def _ending() -> RequestError:
    return RequestError(503, "ending", "`server` must be running; it is ending")


def _log_late(future: Future[Any]) -> None:
    """Log the error of a job for which nobody waits."""
    error = None if future.cancelled() else future.exception()
    if error is not None and not isinstance(error, UserError | GivenUpError):
        when = time.strftime("%H:%M:%S")
        tell(f"{when} {type(error).__name__}: {error} (the client has gone)")


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code = WORDS.get(error.status_code, "wrong")
    problem = {
        404: f"`path` must be one of this server's; it is {request.url.path[:80]}",
        405: f"`method` must be another for {request.url.path[:80]}; it is {request.method}",
    }.get(error.status_code, str(error.detail))
    return error_response(RequestError(error.status_code, code, problem, error.headers))
