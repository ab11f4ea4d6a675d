"""Django settings, read from the environment; web/variables.py declares every variable.

Two shapes, chosen by ``DATABASE_URL`` and ``REDIS_URL`` alone: embedded (SQLite, a worker inside the web
process) and scaled out (PostgreSQL, Redis, one process a role).
"""

from __future__ import annotations

import logging
import re
from pathlib import Path

import environ
from csp.constants import NONCE, NONE, SELF
from django.core.exceptions import ImproperlyConfigured
from django.utils.translation import gettext_lazy

from kschedweb import __version__
from kschedweb.accounts.signin import configuration
from kschedweb.build import FILES, data_folder
from kschedweb.web import logs, variables

BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR = data_folder(variables.DATA_DIR.read()).resolve()

DEBUG = variables.DEBUG.read()
HTTPS = variables.HTTPS.read()
# One proxy of the operator's own stands before the server and sets X-Forwarded-For and -Proto.
BEHIND_PROXY = variables.BEHIND_PROXY.read()
SECRET_KEY = variables.SECRET_KEY.read()
if not SECRET_KEY:
    raise ImproperlyConfigured(
        "KSCHEDWEB_SECRET_KEY is not set: `make run` makes one, a deployment must bring its own."
    )
# The first key encrypts, all of them decrypt: see clusters/credentials.py.
ENCRYPTION_KEYS = variables.ENCRYPTION_KEYS.read_list()
if any(len(key) < 32 for key in ENCRYPTION_KEYS):
    raise ImproperlyConfigured("KSCHEDWEB_ENCRYPTION_KEYS holds a key of fewer than 32 characters.")
ALLOWED_HOSTS = variables.ALLOWED_HOSTS.read_list()
API_ORIGINS = variables.API_ORIGINS.read_list()
CSRF_TRUSTED_ORIGINS = variables.TRUSTED_ORIGINS.read_list()
# Networks and names a cluster address may lie in: see clusters/addresses.py.
CLUSTER_ALLOWLIST = variables.CLUSTER_ALLOWLIST.read_list()
CLUSTER_ALLOWLIST_EDITABLE = variables.CLUSTER_ALLOWLIST_EDITABLE.read()
CLUSTER_ALLOW_INSECURE = variables.CLUSTER_ALLOW_INSECURE.read()
# Streams of live schedulers that one person may have open at once, in each web process.
STREAMS_PER_PERSON = variables.STREAMS_PER_PERSON.read()
# The same for extenders, which live schedulers ask.
EXTENDER_ALLOWLIST = variables.EXTENDER_ALLOWLIST.read_list()
EXTENDER_ALLOW_INSECURE = variables.EXTENDER_ALLOW_INSECURE.read()
# The same for git repositories that policies come from; folders of the server are named one by one.
REPOSITORY_ALLOWLIST = variables.REPOSITORY_ALLOWLIST.read_list()
REPOSITORY_ALLOW_INSECURE = variables.REPOSITORY_ALLOW_INSECURE.read()
REPOSITORY_FOLDERS = variables.REPOSITORY_FOLDERS.read_list()
# Where the sandbox of `make run` answers, and what opens it: runner.py sets both.
SANDBOX_SERVER = variables.SANDBOX_SERVER.read()
SANDBOX_TOKEN = variables.SANDBOX_TOKEN.read()
UPLOAD_LIMIT = variables.UPLOAD_LIMIT_MIB.read() * 1024 * 1024

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.forms",
    "allauth",
    "allauth.account",
    "allauth.socialaccount",
    "allauth.mfa",
    "axes",
    "csp",
    "django_filters",
    "django_htmx",
    "django_structlog",
    "rest_framework",
    "drf_spectacular",
    "kschedweb.accounts",
    "kschedweb.lists",
    "kschedweb.jobs",
    "kschedweb.clusters",
    "kschedweb.clusters.flight",
    "kschedweb.clusters.prices",
    "kschedweb.watermarks",
    "kschedweb.policies",
    "kschedweb.policies.repositories",
    "kschedweb.decisions",
    "kschedweb.queues",
    "kschedweb.playground.scenarios",
    "kschedweb.playground.runs",
    "kschedweb.playground.sweeps",
    "kschedweb.playground.capacity",
    "kschedweb.playground.gate",
    "kschedweb.playground.migration",
    "kschedweb.playground.trying",
    "kschedweb.playground.experiments",
    "kschedweb.live.schedulers",
    "kschedweb.live.approvals",
    "kschedweb.live.extender",
    "kschedweb.live.shadow",
    "kschedweb.playground.recordings",
    "kschedweb.advice.autoscaling",
    "kschedweb.advice.costs",
    "kschedweb.advice.moves",
    "kschedweb.advice.rightsizing",
    "kschedweb.advice.plans",
    "kschedweb.sandbox",
    "kschedweb.dashboard",
    "kschedweb.fleet",
]

MIDDLEWARE = [
    "kschedweb.web.health.HealthMiddleware",
    "kschedweb.live.extender.middleware.ExtenderMiddleware",
    # Before all the rest, so that an error anywhere below it has a request id.
    "django_structlog.middlewares.RequestMiddleware",
    # Above what answers errors, which such a page reads too.
    "kschedweb.web.cross_origin.CrossOriginMiddleware",
    "kschedweb.web.problems.ProblemMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    # Below static files, which everybody may keep.
    "kschedweb.web.caching.CacheControlMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "kschedweb.accounts.sessions.SessionMiddleware",
    "kschedweb.accounts.signin.provider_sessions.ProviderMiddleware",
    "kschedweb.accounts.signin.header.HeaderMiddleware",
    "kschedweb.accounts.middleware.ReachMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "kschedweb.web.moments.ZoneMiddleware",
    "kschedweb.web.languages.LanguageMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "axes.middleware.AxesMiddleware",
    "kschedweb.web.post_only_pages.PostedMiddleware",
]

ROOT_URLCONF = "kschedweb.urls"
ASGI_APPLICATION = "kschedweb.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [FILES / "frontend" / "templates"],
        "OPTIONS": {
            "builtins": ["kschedweb.web.templates"],
            "loaders": [
                (
                    "django.template.loaders.cached.Loader",
                    ["kschedweb.web.templates.PlainAttributesLoader", "django.template.loaders.app_directories.Loader"],
                )
            ],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "csp.context_processors.nonce",
                "kschedweb.dashboard.context.frame",
            ],
        },
    },
]

# Connections that one process has to PostgreSQL at most: docs/operations.md has the sum over all processes.
DATABASE_POOL = variables.DATABASE_POOL.read()
DATABASE_URL = variables.DATABASE_URL.read() or f"sqlite:///{DATA_DIR / 'kschedweb.sqlite3'}"
if not DATABASE_URL.startswith(("postgres://", "postgresql://", "sqlite:///")):
    raise ImproperlyConfigured("DATABASE_URL must be like postgres://user:password@host/name or sqlite:////path.")
try:
    DATABASES = {"default": environ.Env.db_url_config(DATABASE_URL)}
except ValueError:
    raise ImproperlyConfigured("DATABASE_URL is not a well-formed address.") from None
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    DATABASES["default"]["ENGINE"] = "kschedweb.web.sqlite"
    DATABASES["default"]["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
    }
else:
    DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
    DATABASES["default"]["OPTIONS"] = {
        **DATABASES["default"].get("OPTIONS", {}),
        # By default the pool rests ever longer between tries while the database is away: its return would be seen late.
        "pool": {"min_size": 1, "max_size": DATABASE_POOL, "timeout": 10.0, "reconnect_timeout": 5.0},  # seconds
        "connect_timeout": 2,  # seconds
        # A line that was cut without a word ends within some seconds, too.
        "keepalives_idle": 5,
        "keepalives_interval": 2,
        "keepalives_count": 3,
        "tcp_user_timeout": 10_000,  # milliseconds
    }
# Threads that answer requests; the pool has a connection for each of them, and four for streams and probes.
HEAVY_THREADS = 2  # while one computes another one may wait for the database
HEAVY_SECONDS = 15  # for which a page may compute
REQUEST_THREADS = DATABASE_POOL - HEAVY_THREADS - 4

REDIS_URL = variables.REDIS_URL.read()
if REDIS_URL and not REDIS_URL.startswith(("redis://", "rediss://")):
    raise ImproperlyConfigured("REDIS_URL must start with redis:// or rediss://.")
CACHES = {
    "default": {"BACKEND": "kschedweb.web.cache.LenientRedisCache", "LOCATION": REDIS_URL}
    if REDIS_URL
    else {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}
}

CELERY_BROKER_URL = REDIS_URL or "memory://localhost"
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
# A connection that broke while it rested is made anew; beyond that whoever sends is told that the broker is away.
CELERY_TASK_PUBLISH_RETRY_POLICY = {"max_retries": 1, "interval_start": 0.0}
CELERY_BROKER_CONNECTION_MAX_RETRIES = None  # a live scheduler goes on without its broker, however long that is away
CELERY_BROKER_TRANSPORT_OPTIONS = {"visibility_timeout": 3600} if REDIS_URL else {"polling_interval": 0.1}
# Of one person: jobs that run at the same time, and jobs that wait. See jobs/turns.py.
JOBS_RUNNING = variables.JOBS_RUNNING.read()
JOBS_WAITING = variables.JOBS_WAITING.read()
# Of one job, in its process: see jobs/processes.py. What works outside of one has Celery's limits.
JOB_MEMORY_MIB = variables.JOB_MEMORY_MIB.read()
JOB_SECONDS = variables.JOB_SECONDS.read()
JOB_PROCESSES = True
CELERY_TASK_SOFT_TIME_LIMIT = JOB_SECONDS + 60
CELERY_TASK_TIME_LIMIT = JOB_SECONDS + 120
CELERY_BEAT_SCHEDULE_FILENAME = str(DATA_DIR / "celerybeat-schedule")
CELERY_BEAT_SYNC_EVERY = 1  # Its file is then never older than the last task: a health check looks at it.
CELERY_BEAT_SCHEDULE = {
    "reconcile jobs": {"task": "kschedweb.jobs.tasks.reconcile", "schedule": 60, "options": {"expires": 50}},
    "collect watermarks": {
        "task": "kschedweb.watermarks.tasks.collect_due",
        "schedule": 10,
        "options": {"expires": 9},
    },
    "expire approvals": {"task": "kschedweb.approvals.tasks.expire", "schedule": 5, "options": {"expires": 4}},
    "deliver webhooks": {
        "task": "kschedweb.approvals.webhooks.tasks.deliver_due",
        "schedule": 5,
        "options": {"expires": 4},
    },
    "refresh clusters": {
        "task": "kschedweb.clusters.tasks.refresh_due",
        "schedule": 10,
        "options": {"expires": 9},
    },
    "bring the fleet up to date": {
        "task": "kschedweb.fleet.tasks.catch_up",
        "schedule": 60,
        "options": {"expires": 50},
    },
    "look at repositories": {
        "task": "kschedweb.policies.repositories.tasks.look_due",
        "schedule": 10,
        "options": {"expires": 9},
    },
    "tell of decisions": {
        "task": "kschedweb.approvals.webhooks.tasks.tell_decisions",
        "schedule": 10,
        "options": {"expires": 9},
    },
    "read the sandbox": {"task": "kschedweb.sandbox.tasks.read", "schedule": 60, "options": {"expires": 50}},
    "delete what is kept no longer": {
        "task": "kschedweb.retention.clean",
        "schedule": 60,
        "options": {"expires": 50},
    },
}

# How many days rows are kept after they came to an end, 0: for ever. See retention.py.
KEEP_DAYS = {name: variable.read() for name, variable in variables.KEEP_DAYS.items()}
KEEP_SNAPSHOTS = variables.KEEP_SNAPSHOTS.read()  # of each cluster, the newest

AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "django.contrib.auth.backends.ModelBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "overview"
LOGOUT_REDIRECT_URL = "login"
AXES_FAILURE_LIMIT = 5
AXES_COOLOFF_TIME = 0.25  # hours
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_RESET_ON_SUCCESS = True
AXES_LOCKOUT_CALLABLE = "kschedweb.accounts.lockout.lockout"
AXES_VERBOSE = False
AXES_HANDLER = "kschedweb.accounts.lockout.Handler"
AXES_CLIENT_IP_CALLABLE = "kschedweb.accounts.addresses.client_network"
AXES_USERNAME_CALLABLE = "kschedweb.accounts.lockout.name_key"
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False  # a refused try neither writes nor prolongs anything
AXES_DISABLE_ACCESS_LOG = True  # the audit trail has it
# Wrong passwords of one address within the same time, whatever names they were tried for.
LOGIN_ADDRESS_LIMIT = variables.LOGIN_ADDRESS_LIMIT.read()
PASSWORD_HASHERS = ["kschedweb.accounts.hashing.PBKDF2PasswordHasher"]

# Who else says who somebody is, beside passwords: see docs/sign-in.md.
IDENTITY_PROVIDERS = configuration.providers_read()
# Seconds after which a provider is asked again about each of its sessions.
OIDC_RECHECK_SECONDS = variables.OIDC_RECHECK_SECONDS.read()
REMOTE_HEADER = configuration.header_read()
# false: nobody logs in with a password but the one administrator who is named here.
LOCAL_ACCOUNTS = variables.LOCAL_ACCOUNTS.read()
BREAK_GLASS = variables.BREAK_GLASS.read()
if not LOCAL_ACCOUNTS and not BREAK_GLASS:
    raise ImproperlyConfigured("KSCHEDWEB_BREAK_GLASS must name an administrator where KSCHEDWEB_LOCAL_ACCOUNTS=false.")
# Roles in which whoever logs in with a password needs a second factor.
SECOND_FACTOR_ROLES = configuration.roles_read(variables.SECOND_FACTOR_ROLES.read_list())
ACCOUNT_ADAPTER = "kschedweb.accounts.signin.adapter.AccountAdapter"
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_LOGIN_METHODS = {"username"}
ACCOUNT_REAUTHENTICATION_METHODS = ["password"]
ACCOUNT_RATE_LIMITS = False  # lockout.py counts, for all processes
SOCIALACCOUNT_ADAPTER = "kschedweb.accounts.signin.openid.SocialAccountAdapter"
SOCIALACCOUNT_EMAIL_VERIFICATION = "none"
SOCIALACCOUNT_STORE_TOKENS = False
SOCIALACCOUNT_REQUESTS_TIMEOUT = 5
MFA_ADAPTER = "kschedweb.accounts.factors.adapter.FactorAdapter"
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_FORMS = {
    "add_webauthn": "kschedweb.accounts.factors.forms.NewPasskeyForm",
    "authenticate": "kschedweb.accounts.factors.forms.CodeForm",
    "authenticate_webauthn": "kschedweb.accounts.factors.forms.PasskeyForm",
}
MFA_TOTP_ISSUER = "kschedweb"
MFA_TOTP_TOLERANCE = 1  # a code of 30 seconds ago, or of a clock that is as fast
MFA_ALLOW_UNVERIFIED_EMAIL = True  # an admin made the account
MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN = True  # factors/answers.py looks at the whole origin

# Where people open the site, for links in messages; none: links are paths.
SITE_URL = variables.URL.read().strip().rstrip("/")
if SITE_URL and not re.fullmatch(r"https?://[^\s/?#@]+(/[^\s?#]*)?", SITE_URL):
    raise ImproperlyConfigured("KSCHEDWEB_URL must be like https://kschedweb.example.com.")

# Where mail goes out, for passwords that people forgot; none: admins reset them.
EMAIL_URL = variables.EMAIL_URL.read()
if EMAIL_URL:
    try:
        vars().update(environ.Env.email_url_config(EMAIL_URL))
    except (ValueError, KeyError, environ.ImproperlyConfigured):
        raise ImproperlyConfigured("KSCHEDWEB_EMAIL_URL must be like smtp+tls://user:password@host:587.") from None
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = variables.EMAIL_FROM.read()
PASSWORD_RESET_TIMEOUT = 3600

# Audit entries are also written here as JSON lines: "stdout", the path of a file, or nowhere.
AUDIT_LOG = variables.AUDIT_LOG.read()
if AUDIT_LOG not in ("", "stdout") and not Path(AUDIT_LOG).absolute().parent.is_dir():
    raise ImproperlyConfigured("KSCHEDWEB_AUDIT_LOG must be stdout, or a file in a folder that exists.")

# How long the lease of every live scheduler lasts, whatever its policy says; it is renewed within two thirds of that.
# 0: as long as the policy says.
LEASE_SECONDS = variables.LEASE_SECONDS.read()
# Where the process that hosts live schedulers serves its metrics; 0: nowhere but on the site itself.
METRICS_PORT = variables.METRICS_PORT.read()
METRICS_HOST = variables.METRICS_HOST.read()

FILTERS_EMPTY_CHOICE_LABEL = gettext_lazy("All")

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "kschedweb.accounts.authentication.TokenAuthentication",
        "kschedweb.accounts.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": [
        "kschedweb.accounts.permissions.RolePermission",
        "kschedweb.web.parameters.KnownParameters",
    ],
    "DEFAULT_PAGINATION_CLASS": "kschedweb.web.pagination.CursorPagination",
    "DEFAULT_FILTER_BACKENDS": ["kschedweb.web.filtering.FilterBackend"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "kschedweb.web.parameters.Negotiation",
    "DEFAULT_SCHEMA_CLASS": "kschedweb.web.schema.AutoSchema",
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["kschedweb.web.parsers.StrictJSONParser"],
    "EXCEPTION_HANDLER": "kschedweb.web.rest.problem_details",
    "DEFAULT_THROTTLE_CLASSES": ["kschedweb.accounts.authentication.CallerThrottle"],
    "DEFAULT_THROTTLE_RATES": {
        "caller": f"{variables.API_RATE.read()}/min",
        "stranger": "60/min",
    },
}
SPECTACULAR_SETTINGS = {
    "TITLE": "kschedweb",
    "DESCRIPTION": "Kubernetes scheduling explained, tried and run.",
    "VERSION": __version__,
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["kschedweb.accounts.permissions.RolePermission"],
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "kschedweb.web.schema.drop_database_limits",
        "kschedweb.web.schema.add_problems",
        "kschedweb.web.schema.add_units",
        "kschedweb.web.schema.add_examples",
    ],
    "ENUM_NAME_OVERRIDES": {
        "AutoscalingNodeVerdictEnum": "kschedweb.advice.autoscaling.words.VERDICTS",
        "RightSizingMethod": "kschedweb.advice.rightsizing.sizing.METHODS",
        "MethodEnum": "kschedweb.playground.sweeps.models.Method",
        "Role": "kschedweb.accounts.roles.Role",
        "Scope": "kschedweb.accounts.roles.Action",
        "ClassicKind": ["predicate", "priority"],
        "CounterpartKind": ["equal", "near", "none"],
        "GateVerdictKind": ["pass", "fail"],
        "MeasureGroup": ["run", "disruption", "balance", "cost", "speed"],
        "JobState": "kschedweb.jobs.models.JobState",
        "TokenState": ["active", "expired", "revoked"],
        "ApprovalState": "kschedweb.live.approvals.models.ApprovalState",
        "VoteVerdict": "kschedweb.live.approvals.models.VoteVerdict",
        "MovesRuleKind": ["rejects", "prefers", "fails"],
        "LiveMode": "kschedweb.live.schedulers.models.Mode",
        "LiveResult": "kschedweb.live.schedulers.models.Result",
        "RunMoveKind": ["bound", "left", "evicted", "preempted", "node-gone"],
        "ScenarioFileKind": "kschedweb.playground.scenarios.models.FileKind",
        "PodGroupState": ["missing", "unread", "empty", "incomplete", "pending", "bound"],
        "PlaceEnum": ["all", "pending"],
        "QueuedWorkloadVerdictEnum": "kschedweb.queues.words.VERDICTS",
        "QuotaNodeKind": ["cohort", "queue"],
        "PolicyKind": "kschedweb.policies.models.PolicyKind",
        "SourceKind": "kschedweb.watermarks.models.SourceKind",
    },
}

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF, NONCE],
        "style-src": [SELF, NONCE],
        # Plotly sets style attributes on the elements it draws.
        "style-src-attr": ["'unsafe-inline'"],
        "img-src": [SELF, "data:", "blob:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "manifest-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    }
}
SECURE_SSL_REDIRECT = HTTPS
SECURE_HSTS_SECONDS = 365 * 24 * 3600 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = HTTPS
SECURE_HSTS_PRELOAD = HTTPS
SECURE_REFERRER_POLICY = "same-origin"
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if BEHIND_PROXY else None
# How long a session lasts, and how long without activity (0: as long as it lasts): see accounts/sessions.py.
SESSION_HOURS = variables.SESSION_HOURS.read()
SESSION_IDLE_MINUTES = variables.SESSION_IDLE_MINUTES.read()
ADMIN_SESSION_HOURS = variables.ADMIN_SESSION_HOURS.read()
ADMIN_SESSION_IDLE_MINUTES = variables.ADMIN_SESSION_IDLE_MINUTES.read()
SESSION_COOKIE_AGE = max(SESSION_HOURS, ADMIN_SESSION_HOURS) * 3600
SESSION_COOKIE_SECURE = HTTPS
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SECURE = HTTPS
CSRF_COOKIE_HTTPONLY = True
CSRF_FAILURE_VIEW = "kschedweb.web.problems.csrf_failure"
X_FRAME_OPTIONS = "DENY"
DATA_UPLOAD_MAX_MEMORY_SIZE = UPLOAD_LIMIT

LOGGING = logs.configure_logging(json_lines=not DEBUG, level=variables.LOG_LEVEL.read().upper())
DJANGO_STRUCTLOG_CELERY_ENABLED = True
DJANGO_STRUCTLOG_IP_LOGGING_ENABLED = False  # accounts/addresses.py binds the one that counts
DJANGO_STRUCTLOG_STATUS_4XX_LOG_LEVEL = logging.INFO

STATIC_URL = "/static/"
STATIC_ROOT = FILES / "staticfiles"
STATICFILES_DIRS = [FILES / "frontend" / "dist"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("zh-hans", "简体中文"), ("ja", "日本語")]
LOCALE_PATHS = [BASE_DIR / "kschedweb" / "locale"]
LANGUAGE_COOKIE_NAME = "language"  # what somebody chose before they logged in
FORMAT_MODULE_PATH = "kschedweb.web.formats"
TIME_ZONE = "UTC"
USE_THOUSAND_SEPARATOR = True  # in what people read; web/templates.py keeps them out of what programs read
FORM_RENDERER = "django.forms.renderers.TemplatesSetting"  # so that frontend/templates has those of fields
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
