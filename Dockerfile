# The command `tdo` in a container, for the CPU or for GPUs:
#
#   docker build --tag tdo_plugin .
#   docker build --build-arg DEVICE=cuda --tag tdo_plugin .
#   docker run --rm --volume "$PWD:/work" tdo_plugin doctor
#   docker run --rm --gpus all --volume "$PWD:/work" --user "$(id -u):$(id -g)" tdo_plugin quickstart
#
# DEVICE  cpu or cuda: which build of torch is installed
# EVAL    1 adds BERTScore, COMET, language detectors, Japanese and Korean tokenizers (1 GB)

FROM python:3.12-slim AS build
ARG DEVICE=cpu
ARG EVAL=
RUN apt-get update \
    && apt-get install --yes --no-install-recommends g++ \
    && rm -rf /var/lib/apt/lists/*
RUN python -m venv /opt/tdo
ENV PATH=/opt/tdo/bin:$PATH PIP_NO_CACHE_DIR=1
WORKDIR /source
# torch first: a layer that changes of the code leave as it is
COPY constraints.txt .
RUN torch=$(grep '^torch==' constraints.txt); \
    case $DEVICE in \
      cpu) pip install --no-deps --index-url https://download.pytorch.org/whl/cpu "$torch" ;; \
      cuda) pip install -c constraints.txt "$torch" ;; \
      *) echo "DEVICE must be cpu or cuda; it is $DEVICE" >&2; exit 2 ;; \
    esac
COPY . .
RUN pip install -c constraints.txt ".[report,tensorboard,corpora,completion,pretrained,export,serve]"
RUN tdo setup ${EVAL:+--eval}

FROM python:3.12-slim
ARG DEVICE=cpu
COPY --from=build /opt/tdo /opt/tdo
# `tdo doctor` takes TDO_IMAGE for the sign that it runs in this image
ENV PATH=/opt/tdo/bin:$PATH TDO_IMAGE=$DEVICE HOME=/home/tdo
# The home folder is open to any user, as --user gives the files in /work to their owner.
RUN useradd --create-home --uid 1000 tdo && chmod 1777 /home/tdo && install -d -o tdo /work
USER tdo
WORKDIR /work
ENTRYPOINT ["tdo"]
CMD ["--help"]
