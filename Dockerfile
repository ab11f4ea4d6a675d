# One image for every role; docker-compose.yml says which command makes which.

FROM node:22-slim AS frontend
WORKDIR /src/frontend
COPY frontend/package.json frontend/package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY frontend/ ./
RUN npm run build

FROM python:3.12-slim AS python
RUN python -m venv /opt/venv
ENV PATH=/opt/venv/bin:$PATH
COPY requirements.txt ./
RUN pip install --no-cache-dir --disable-pip-version-check -r requirements.txt

FROM python:3.12-slim
ARG KSCHEDWEB_COMMIT=
ENV KSCHEDWEB_COMMIT=$KSCHEDWEB_COMMIT
RUN useradd --system --uid 10001 --home-dir /nonexistent --no-create-home --shell /usr/sbin/nologin kschedweb \
    && install -d -o kschedweb -g kschedweb -m 700 /data
ENV PATH=/opt/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 KSCHEDWEB_DATA_DIR=/data KSCHEDWEB_HOST=0.0.0.0
WORKDIR /app
COPY --from=python /opt/venv /opt/venv
COPY manage.py ./
COPY kschedweb/ kschedweb/
COPY frontend/templates/ frontend/templates/
COPY --from=frontend /src/frontend/dist/ frontend/dist/
RUN KSCHEDWEB_SECRET_KEY=for-this-command-only python manage.py collectstatic --noinput --verbosity 0
USER 10001
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/readyz', timeout=4)"]
CMD ["python", "-m", "kschedweb.server"]
