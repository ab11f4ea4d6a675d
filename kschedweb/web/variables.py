"""Every setting of the site: its variable, default and meaning. `make settings` writes docs/settings.md from here.

A meaning is Markdown; its links are relative to docs/.
"""

from __future__ import annotations

from kschedweb.web.env import Boolean, Integer, Secret, Text, Variable, Words

# Days to keep rows after they ended, by the name that retention rules use.
KEEP_DAYS = {
    name: Integer(
        f"KSCHEDWEB_KEEP_{name.upper()}_DAYS",
        f"Days to keep {rows}; `0`: for ever.",
        default=days,
        minimum=0,
        maximum=36_500,
    )
    for name, days, rows in (
        ("audit", 400, "the audit trail"),
        ("approvals", 400, "requests for approval, with their votes"),
        ("deliveries", 30, "messages to webhooks"),
        ("jobs", 90, "finished jobs"),
        ("answers", 90, "answers of the gate, of moves, of tried changes and of capacity"),
        ("logins", 90, "logins, failed logins and lockouts"),
        ("work", 0, "runs, comparisons, sweeps, experiments and recordings"),
    )
}

CHAPTERS: dict[str, tuple[Variable, ...]] = {
    "Processes and data": (
        HOST := Text("KSCHEDWEB_HOST", "Address that the web process listens on.", default="127.0.0.1"),
        PORT := Integer(
            "KSCHEDWEB_PORT", "Port that the web process listens on.", default=8000, minimum=1, maximum=65535
        ),
        DATA_DIR := Text(
            "KSCHEDWEB_DATA_DIR",
            "Folder of the SQLite database, of the secrets that the site makes, and of the sandbox.",
            unset="`.data` in a checkout, else `kschedweb` in the user's data folder",
        ),
        DATABASE_URL := Secret(
            "DATABASE_URL",
            "PostgreSQL database: `postgres://user:password@host/name`.",
            unset="SQLite in the data folder",
        ),
        DATABASE_POOL := Integer(
            "KSCHEDWEB_DATABASE_POOL",
            "Most connections of one process to PostgreSQL. A web process answers four fewer requests at a time. "
            "Add up all processes: [Connections](operations.md#connections).",
            default=12,
            minimum=8,
            maximum=200,
        ),
        REDIS_URL := Secret(
            "REDIS_URL",
            "Redis for several processes, `redis://host:6379/0` or `rediss://…`: broker, cache and throttling.",
            unset="none: one process",
        ),
        LOG_LEVEL := Text(
            "KSCHEDWEB_LOG_LEVEL",
            "`DEBUG`, `INFO`, `WARNING` or `ERROR`.",
            default="INFO",
            unset="`INFO` (`make run`: `WARNING`)",
        ),
        DEBUG := Boolean("KSCHEDWEB_DEBUG", "Shows Django's debug pages. Never set it in a deployment."),
        BUILD := Text(
            "KSCHEDWEB_BUILD",
            "Mark of your own, at most 100 characters, shown beside the version by `--version` and at the foot of each "
            "page.",
        ),
        COMMIT := Text(
            "KSCHEDWEB_COMMIT",
            "Commit that an image was built from, shown in the same places: "
            "`docker build --build-arg KSCHEDWEB_COMMIT=$(git rev-parse HEAD) .`",
            unset="the checkout's",
        ),
    ),
    "Secrets": (
        SECRET_KEY := Secret(
            "KSCHEDWEB_SECRET_KEY",
            "Signs sessions. Use at least 50 characters. A deployment must set it.",
            unset="`make run` makes one",
        ),
        ENCRYPTION_KEYS := Words(
            "KSCHEDWEB_ENCRYPTION_KEYS",
            "Encrypts the credentials of clusters. Comma-separated, each of at least 32 characters, such as "
            "`openssl rand -base64 32` prints. The first key encrypts, all decrypt. To rotate: put a new key in front, "
            "run `manage.py rotate_keys`, remove the old key. Without a key no cluster can be connected.",
            unset="`make run` makes one",
        ),
        ADMIN_PASSWORD := Secret(
            "KSCHEDWEB_ADMIN_PASSWORD",
            "Password of the first admin. `manage.py ensure_admin` sets it; `make run` calls that.",
            unset="generated, printed once",
        ),
    ),
    "Address of the site": (
        ALLOWED_HOSTS := Words(
            "KSCHEDWEB_ALLOWED_HOSTS",
            "Comma-separated host names that the site answers to.",
            default="localhost,127.0.0.1,[::1]",
        ),
        URL := Text(
            "KSCHEDWEB_URL",
            "Where people open the site, such as `https://kschedweb.example.com`. Messages of webhooks and statuses of "
            "commits link there.",
            unset="none: links are paths",
        ),
        TRUSTED_ORIGINS := Words(
            "KSCHEDWEB_TRUSTED_ORIGINS",
            "Comma-separated origins, such as `https://kschedweb.example.com`. Needed when a proxy changes the host.",
        ),
        API_ORIGINS := Words(
            "KSCHEDWEB_API_ORIGINS",
            "Comma-separated origins of other sites, such as `https://headlamp.example.com`, whose pages may read the "
            "REST API in a browser, with a token: for the [plugin of Headlamp](headlamp.md).",
        ),
        HTTPS := Boolean(
            "KSCHEDWEB_HTTPS", "Set it when the site is served over https: secure cookies, redirect, HSTS."
        ),
        BEHIND_PROXY := Boolean(
            "KSCHEDWEB_BEHIND_PROXY",
            "Set it when exactly one proxy of your own appends to `X-Forwarded-For` and sets `X-Forwarded-Proto`. The "
            "last entry is then taken as the address of a request; otherwise the address of the connection is.",
        ),
    ),
    "Clusters, repositories and extenders": (
        CLUSTER_ALLOWLIST := Words(
            "KSCHEDWEB_CLUSTER_ALLOWLIST",
            "Comma-separated networks (`10.0.0.0/8`), host names and suffixes (`*.k8s.example.com`) that the site may "
            "connect to: API servers of clusters, Prometheus, webhooks. Checked before each request, and again after "
            "name resolution. A host name or suffix admits public addresses only; list the network of private and "
            "loopback ones. Addresses of cloud metadata are never allowed.",
        ),
        CLUSTER_ALLOWLIST_EDITABLE := Boolean(
            "KSCHEDWEB_CLUSTER_ALLOWLIST_EDITABLE",
            "Lets administrators add to this list on the page Clusters → Connect, and remove what they added. Without "
            "it, what was added does not count.",
        ),
        CLUSTER_ALLOW_INSECURE := Boolean(
            "KSCHEDWEB_CLUSTER_ALLOW_INSECURE", "Allows `http://` where credentials are sent."
        ),
        REPOSITORY_ALLOWLIST := Words(
            "KSCHEDWEB_REPOSITORY_ALLOWLIST",
            "The same for git repositories that [policies come from](repositories.md), and for the APIs that take "
            "statuses of their commits.",
        ),
        REPOSITORY_ALLOW_INSECURE := Boolean("KSCHEDWEB_REPOSITORY_ALLOW_INSECURE", "Allows `http://` for these."),
        REPOSITORY_FOLDERS := Words(
            "KSCHEDWEB_REPOSITORY_FOLDERS",
            "Comma-separated folders of the server in which such repositories may lie.",
        ),
        EXTENDER_ALLOWLIST := Words(
            "KSCHEDWEB_EXTENDER_ALLOWLIST",
            "The same for HTTP extenders. Only a live scheduler whose policy names an extender calls it.",
        ),
        EXTENDER_ALLOW_INSECURE := Boolean(
            "KSCHEDWEB_EXTENDER_ALLOW_INSECURE", "Allows `http://` for these, and `tlsConfig.insecure`."
        ),
        UPLOAD_LIMIT_MIB := Integer(
            "KSCHEDWEB_UPLOAD_LIMIT_MIB",
            "Largest import in MiB; YAML is limited to 16 MiB. A job reads what is larger than 1 MiB.",
            default=64,
            minimum=1,
            maximum=1024,
        ),
        KEEP_SNAPSHOTS := Integer(
            "KSCHEDWEB_KEEP_SNAPSHOTS",
            "Snapshots to keep of each cluster. Those that a scenario starts from are kept as well.",
            default=5,
            minimum=1,
            maximum=1000,
        ),
    ),
    "Sandbox and examples": (
        EXAMPLES := Boolean(
            "KSCHEDWEB_EXAMPLES",
            "`make run` fills the lists of a new data folder with one [example](operations.md#examples) each. `false`: "
            "they begin empty. Scaled out there are none.",
            default=True,
        ),
        SANDBOX := Boolean(
            "KSCHEDWEB_SANDBOX",
            "`make run` starts the [sandbox](sandbox.md). `false`: no sandbox, and no page of it. Scaled out there is "
            "none.",
            default=True,
        ),
        SANDBOX_USE := Text(
            "KSCHEDWEB_SANDBOX_USE",
            "File with [recorded use](sandbox.md#use) that the sandbox's pods follow.",
            unset="none: curves from a table",
        ),
        SANDBOX_SERVER := Text(
            "KSCHEDWEB_SANDBOX_SERVER", "Address of the sandbox's API server.", unset="`make run` sets it"
        ),
        SANDBOX_TOKEN := Secret(
            "KSCHEDWEB_SANDBOX_TOKEN", "Token of the sandbox's API server.", unset="`make run` makes one"
        ),
    ),
    "Passwords and sessions": (
        LOGIN_ADDRESS_LIMIT := Integer(
            "KSCHEDWEB_LOGIN_ADDRESS_LIMIT",
            "Wrong passwords within 15 minutes that lock an address out for 15 minutes, for whatever user names. "
            "Raise it where a large office shares one address.",
            default=50,
            minimum=5,
            maximum=1_000_000,
        ),
        LOCAL_ACCOUNTS := Boolean(
            "KSCHEDWEB_LOCAL_ACCOUNTS",
            "`false`: only the administrator in `KSCHEDWEB_BREAK_GLASS` may log in with a password.",
            default=True,
        ),
        BREAK_GLASS := Text("KSCHEDWEB_BREAK_GLASS", "User name of that administrator."),
        SECOND_FACTOR_ROLES := Words(
            "KSCHEDWEB_SECOND_FACTOR_ROLES", "Comma-separated roles that need a second factor beside their password."
        ),
        SESSION_HOURS := Integer(
            "KSCHEDWEB_SESSION_HOURS", "Hours after which a session ends.", default=14 * 24, minimum=1, maximum=366 * 24
        ),
        SESSION_IDLE_MINUTES := Integer(
            "KSCHEDWEB_SESSION_IDLE_MINUTES",
            "Minutes without activity after which a session ends; `0`: never.",
            default=0,
            minimum=0,
            maximum=366 * 24 * 60,
        ),
        ADMIN_SESSION_HOURS := Integer(
            "KSCHEDWEB_ADMIN_SESSION_HOURS",
            "Hours after which an administrator's session ends.",
            default=12,
            minimum=1,
            maximum=366 * 24,
        ),
        ADMIN_SESSION_IDLE_MINUTES := Integer(
            "KSCHEDWEB_ADMIN_SESSION_IDLE_MINUTES",
            "Minutes without activity after which an administrator's session ends; `0`: never.",
            default=60,
            minimum=0,
            maximum=366 * 24 * 60,
        ),
        EMAIL_URL := Secret(
            "KSCHEDWEB_EMAIL_URL",
            "Mail server, such as `smtp+tls://user:password@mail.example.com:587`. With it people reset forgotten "
            "passwords themselves.",
            unset="none: no mail",
        ),
        EMAIL_FROM := Text("KSCHEDWEB_EMAIL_FROM", "Sender of that mail.", default="kschedweb@localhost"),
        AUDIT_LOG := Text(
            "KSCHEDWEB_AUDIT_LOG",
            "`stdout`, or the path of a file. Each entry of the audit trail is also written there, as a line of JSON.",
        ),
    ),
    "Single sign-on": (
        IDENTITY_PROVIDERS := Text(
            "KSCHEDWEB_IDENTITY_PROVIDERS",
            "YAML file that names identity providers (OpenID Connect): [sign-in.md](sign-in.md).",
        ),
        OIDC_ISSUER := Text(
            "KSCHEDWEB_OIDC_ISSUER", "Issuer of a single identity provider. It needs no file; its id is `oidc`."
        ),
        OIDC_CLIENT_ID := Text("KSCHEDWEB_OIDC_CLIENT_ID", "OAuth client ID of this site there."),
        OIDC_CLIENT_SECRET := Secret(
            "KSCHEDWEB_OIDC_CLIENT_SECRET", "OAuth client secret.", unset="none: a public client"
        ),
        OIDC_LABEL := Text(
            "KSCHEDWEB_OIDC_LABEL", "Name on the login page: “Log in with …”.", default="single sign-on"
        ),
        OIDC_SCOPES := Words(
            "KSCHEDWEB_OIDC_SCOPES", "Comma-separated OAuth scopes to request.", default="openid,profile,email"
        ),
        OIDC_GROUPS_CLAIM := Text("KSCHEDWEB_OIDC_GROUPS_CLAIM", "Claim with the groups of a user.", default="groups"),
        OIDC_ROLES := Words(
            "KSCHEDWEB_OIDC_ROLES",
            "Comma-separated rules from group to role, such as `platform-admins=admin,team-*=editor`. The first that "
            "matches counts.",
        ),
        OIDC_GRANTS := Words(
            "KSCHEDWEB_OIDC_GRANTS",
            "Comma-separated grants for groups, such as `team-web=editor@prod:web+shop` "
            "([grants by groups](sign-in.md#grants-by-groups)).",
        ),
        OIDC_OTHERWISE := Text(
            "KSCHEDWEB_OIDC_OTHERWISE", "Role of users that match no rule, or `refused`.", default="refused"
        ),
        OIDC_RECHECK_SECONDS := Integer(
            "KSCHEDWEB_OIDC_RECHECK_SECONDS",
            "Seconds after which a session is checked with its provider again. A change of groups takes effect within "
            "that time.",
            default=300,
            minimum=5,
            maximum=86_400,
        ),
        REMOTE_USER_HEADER := Text(
            "KSCHEDWEB_REMOTE_USER_HEADER",
            "Header in which a proxy that signs users in puts the user name: [sign-in.md](sign-in.md).",
            unset="none: no header counts",
        ),
        REMOTE_GROUPS_HEADER := Text(
            "KSCHEDWEB_REMOTE_GROUPS_HEADER", "Header in which it puts the user's groups, comma-separated."
        ),
        REMOTE_USER_PROXIES := Words(
            "KSCHEDWEB_REMOTE_USER_PROXIES",
            "Comma-separated addresses and networks of that proxy. Both headers are ignored from anywhere else.",
        ),
        REMOTE_ROLES := Words("KSCHEDWEB_REMOTE_ROLES", "Rules as in `KSCHEDWEB_OIDC_ROLES`."),
        REMOTE_GRANTS := Words("KSCHEDWEB_REMOTE_GRANTS", "Grants as in `KSCHEDWEB_OIDC_GRANTS`."),
        REMOTE_OTHERWISE := Text(
            "KSCHEDWEB_REMOTE_OTHERWISE", "Role of users that match no rule, or `refused`.", default="refused"
        ),
    ),
    "Limits": (
        API_RATE := Integer(
            "KSCHEDWEB_API_RATE",
            "REST calls a minute of one user or token.",
            default=1200,
            minimum=1,
            maximum=1_000_000,
        ),
        STREAMS_PER_PERSON := Integer(
            "KSCHEDWEB_STREAMS_PER_PERSON",
            "Pages of live schedulers that one user may keep open in one web process.",
            default=20,
            minimum=1,
            maximum=10_000,
        ),
        JOBS_RUNNING := Integer(
            "KSCHEDWEB_JOBS_RUNNING",
            "Jobs of one user that run at the same time. Further jobs wait.",
            default=4,
            minimum=1,
            maximum=1000,
        ),
        JOBS_WAITING := Integer(
            "KSCHEDWEB_JOBS_WAITING",
            "Jobs of one user that wait. Further jobs are refused.",
            default=200,
            minimum=1,
            maximum=100_000,
        ),
        JOB_MEMORY_MIB := Integer(
            "KSCHEDWEB_JOB_MEMORY_MIB",
            "Memory in MiB that the process of a job may use. A job that needs more fails and says so: "
            "[Work in the background](operations.md#work-in-the-background).",
            default=2048,
            minimum=512,
            maximum=1024 * 1024,
        ),
        JOB_SECONDS := Integer(
            "KSCHEDWEB_JOB_SECONDS",
            "Seconds that a job may take. Recordings are not limited by it.",
            default=1740,
            minimum=1,
            maximum=3000,
        ),
    ),
    "Live schedulers": (
        LEASE_SECONDS := Integer(
            "KSCHEDWEB_LEASE_SECONDS",
            "Seconds that the lock of every live scheduler lasts, whatever its policy says. That long a standby waits "
            "for a leader that has vanished: [live.md](live.md#by-what-a-leader-is-elected).",
            unset="the policy's, else `15`",
            default=0,
            minimum=3,
            maximum=600,
        ),
        METRICS_PORT := Integer(
            "KSCHEDWEB_METRICS_PORT",
            "Port on which the process of live schedulers serves metrics to Prometheus, without a password. `make run` "
            "also serves them on the site at `/metrics`, to tokens of scope `view`.",
            unset="`0`: no port",
            default=0,
            minimum=0,
            maximum=65535,
        ),
        METRICS_HOST := Text("KSCHEDWEB_METRICS_HOST", "Address that this port is opened on.", default="127.0.0.1"),
    ),
    "Retention": tuple(KEEP_DAYS.values()),
}

# The settings that README.md names, because most installations look at them first.
FIRST = (
    PORT,
    DATA_DIR,
    SECRET_KEY,
    ENCRYPTION_KEYS,
    DATABASE_URL,
    REDIS_URL,
    ALLOWED_HOSTS,
    URL,
    HTTPS,
    CLUSTER_ALLOWLIST,
)
