# One image for every role; docker-compose.yml says which command makes which. Give digests for builds that repeat:
#   docker build --build-arg NODE=node:22-slim@sha256:… --build-arg PYTHON=python:3.12-slim@sha256:… .
ARG NODE=node:22-slim
ARG PYTHON=python:3.12-slim

FROM ${NODE} AS frontend
ARG NPM_CONFIG_REGISTRY
WORKDIR /src/frontend
COPY frontend/package.json frontend/package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY frontend/ ./
RUN npm run build

FROM ${PYTHON} AS python
ARG PIP_INDEX_URL
RUN python -m venv /opt/venv
ENV PATH=/opt/venv/bin:$PATH
COPY requirements.lock ./
RUN pip install --no-cache-dir --disable-pip-version-check --require-hashes -r requirements.lock

FROM ${PYTHON}
ARG KSCHEDWEB_COMMIT=
ARG KSCHEDWEB_VERSION=0.1.0
LABEL org.opencontainers.image.title="kschedweb" \
      org.opencontainers.image.description="A web dashboard and policy playground for Kubernetes scheduling" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$KSCHEDWEB_VERSION" \
      org.opencontainers.image.revision="$KSCHEDWEB_COMMIT"
ENV KSCHEDWEB_COMMIT=$KSCHEDWEB_COMMIT
RUN apt-get update && apt-get install --yes --no-install-recommends git && rm -rf /var/lib/apt/lists/*
RUN useradd --system --uid 10001 --home-dir /nonexistent --no-create-home --shell /usr/sbin/nologin kschedweb \
    && install -d -o kschedweb -g kschedweb -m 700 /data
ENV PATH=/opt/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 KSCHEDWEB_DATA_DIR=/data KSCHEDWEB_HOST=0.0.0.0
WORKDIR /app
COPY --from=python /opt/venv /opt/venv
COPY manage.py ./
COPY kschedweb/ kschedweb/
COPY frontend/templates/ frontend/templates/
COPY --from=frontend /src/frontend/dist/ frontend/dist/
COPY LICENSE ./
COPY deploy/healthy deploy/ask deploy/
COPY deploy/sbom.py frontend/package-lock.json /tmp/
RUN python /tmp/sbom.py /tmp/package-lock.json > sbom.spdx.json
RUN python -m kschedweb.catalogues compile
RUN KSCHEDWEB_SECRET_KEY=for-this-command-only python manage.py collectstatic --noinput --verbosity 0
USER 10001
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/readyz', timeout=4)"]
CMD ["python", "-m", "kschedweb.server"]
