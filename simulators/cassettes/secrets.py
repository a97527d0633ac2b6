"""What a secret looks like: keys, tokens and account numbers of the vendors that people meet, in any text.

Each kind is known by its own form (prefix, length, alphabet), by the name that it stands behind (`"api_key": …`,
`?key=…`), or by having been seen elsewhere. Forms with a short prefix need a boundary before them, as long random texts
(images, encrypted reasoning) hold every three letters somewhere. What replaces a secret is a word that is none itself,
so that scrubbing twice changes nothing.
"""

import binascii
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

_EDGE = r"(?<![A-Za-z0-9_\-])"
_UUID = r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
_Q = r"\\*[\"']"  # a quote, however often it was escaped

# kind → its form; group `s`, where there is one, is the secret alone
FORMS: dict[str, str] = {
    "anthropic-key": r"sk-ant-[A-Za-z0-9_\-]{8,}",
    "openrouter-key": r"sk-or-(?:v\d-)?[A-Za-z0-9]{16,}",
    "openai-key": r"sk-(?:proj|svcacct|admin|None|service)-[A-Za-z0-9_\-]{8,}",
    "secret-key": _EDGE + r"sk-[A-Za-z0-9][A-Za-z0-9_\-]{18,}",
    "openai-session": _EDGE + r"sess-[A-Za-z0-9]{20,}",
    "google-key": _EDGE + r"AIza[A-Za-z0-9_\-]{30,}",
    "google-key-new": _EDGE + r"AQ\.[A-Za-z0-9_\-]{20,}",
    "google-oauth": r"ya29\.[A-Za-z0-9_\-.]{10,}",
    "google-refresh": _EDGE + r"1//0[A-Za-z0-9_\-]{20,}",
    "google-secret": _EDGE + r"GOCSPX-[A-Za-z0-9_\-]{10,}",
    "aws-key-id": _EDGE + r"(?:AKIA|ASIA|ABIA|ACCA|AGPA|AIDA|AROA|ANPA|ANVA|AIPA)[A-Z2-7][A-Z0-9]{15}(?![A-Za-z0-9])",
    "bedrock-key": _EDGE + r"(?:ABSK[A-Za-z0-9+/]{40,}={0,2}|bedrock-api-key-[A-Za-z0-9+/=_\-]{20,})",
    "github-token": _EDGE + r"gh[pousr]_[A-Za-z0-9]{20,}",
    "github-token-fine": r"github_pat_[A-Za-z0-9_]{20,}",
    "gitlab-token": r"gl(?:pat|dt|rt|ptt|soat|cbt)-[A-Za-z0-9_\-.]{16,}",
    "slack-token": r"xox[abcdeoprs]-[A-Za-z0-9\-]{10,}|xapp-\d-[A-Za-z0-9\-]{10,}",
    "slack-hook": r"hooks\.slack\.com/(?P<s>(?:services|workflows|triggers)/[A-Za-z0-9_/\-]{16,})",
    "discord-hook": r"discord(?:app)?\.com/api/webhooks/(?P<s>\d+/[A-Za-z0-9_\-]{20,})",
    "jwt": r"eyJ[A-Za-z0-9_\-]{6,}\.[A-Za-z0-9_\-]{6,}(?:\.[A-Za-z0-9_\-]*)*",
    "huggingface-token": _EDGE + r"hf_[A-Za-z0-9]{20,}",
    "groq-key": _EDGE + r"gsk_[A-Za-z0-9]{20,}",
    "xai-key": _EDGE + r"xai-[A-Za-z0-9_\-]{20,}",
    "perplexity-key": _EDGE + r"pplx-[A-Za-z0-9]{20,}",
    "replicate-token": _EDGE + r"r8_[A-Za-z0-9]{20,}",
    "fireworks-key": _EDGE + r"fw_[A-Za-z0-9]{16,}",
    "cerebras-key": _EDGE + r"csk-[A-Za-z0-9]{20,}",
    "nvidia-key": _EDGE + r"nvapi-[A-Za-z0-9_\-]{20,}",
    "together-key": _EDGE + r"tgp_v\d_[A-Za-z0-9_\-]{20,}",
    "tavily-key": _EDGE + r"tvly-[A-Za-z0-9_\-]{16,}",
    "langsmith-key": _EDGE + r"ls(?:v2)?_(?:pt|sk)_[A-Za-z0-9_]{20,}",
    "logfire-token": r"pylf_v\d_[a-z]+_[A-Za-z0-9]{16,}",
    "databricks-token": _EDGE + r"dapi[0-9a-f]{32}(?:-\d)?",
    "stripe-key": _EDGE + r"(?:[sr]k|pk|whsec)_(?:live|test)_[A-Za-z0-9]{10,}|" + _EDGE + r"whsec_[A-Za-z0-9+/=]{20,}",
    "sendgrid-key": _EDGE + r"SG\.[A-Za-z0-9_\-]{16,}\.[A-Za-z0-9_\-]{16,}",
    "npm-token": _EDGE + r"npm_[A-Za-z0-9]{30,}",
    "pypi-token": _EDGE + r"pypi-[A-Za-z0-9_\-]{30,}",
    "digitalocean-token": r"do[opr]_v1_[0-9a-f]{40,}",
    "telegram-token": _EDGE + r"\d{8,10}:AA[A-Za-z0-9_\-]{33}",
    "private-key": r"-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----[\s\S]*?"
                   r"(?:-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|\Z)",
    "bearer": r"(?i:authorization" + _Q + r"?\s*[:=]\s*" + _Q + r"?\s*)?(?i:\bbearer)(?:\s|%20|\+)+"
              r"(?P<s>(?=[A-Za-z0-9._~+/\-]*\d|[A-Za-z0-9._~+/\-]{24})[A-Za-z0-9._~+/\-]{8,}={0,2})",
    "authorization": r"(?i:\bauthorization)" + _Q + r"?\s*[:=]\s*" + _Q
                     + r"?\s*(?:(?i:bearer|basic|token|bot)\s+)?(?P<s>[A-Za-z0-9._~+/\-]{12,}={0,2})",
    "basic": r"(?i:\bbasic)\s+(?P<s>(?=[A-Za-z0-9+/]*[0-9A-Z])[A-Za-z0-9+/]{10,}={1,2})",
    "url-password": r"://[^\s/@:\"'\\]*:(?P<s>[^\s/@\"'\\]+)@",
    "url-key": r"(?i:[?&](?:key|api[_\-]?key|access[_\-]?token|auth[_\-]?token|token|sig|signature|client_secret|code"
               r"|x-amz-(?:signature|credential|security-token)|x-goog-(?:signature|credential)))=(?P<s>[^&\s\"'<>\\#]{6,})",
    "named": r"(?P<q>" + _Q + r")(?i:x-)?(?i:api[_\-]?key|apikey|x-goog-api-key|access[_\-]?token|refresh[_\-]?token"
             r"|id[_\-]?token|auth[_\-]?token|session[_\-]?token|authorization[_\-]?token|client[_\-]?secret|secret[_\-]?key"
             r"|secret[_\-]?access[_\-]?key|aws[_\-]?secret[_\-]?access[_\-]?key|aws[_\-]?session[_\-]?token|private[_\-]?key"
             r"|bearer[_\-]?token|credentials?|authorization|cookie)(?P=q)\s*:\s*(?P=q)"
             r"(?P<s>[^\"'\s]{8,}?)(?=(?P=q))",
    "assigned": r"(?i:(?:api[_\-]?key|secret[_\-]?access[_\-]?key|secret[_\-]?key|access[_\-]?key|client[_\-]?secret"
                r"|(?:access|refresh|auth|session|api)[_\-]?token|passwd|password))" + _Q + r"?\s*[=:]\s*" + _Q
                + r"?(?P<s>(?=[A-Za-z0-9+/_.~\-]*\d)(?=[A-Za-z0-9+/_.~\-]*[A-Za-z])[A-Za-z0-9+/_.~\-]{16,}={0,2})",
    "openai-organization": _EDGE + r"org-[A-Za-z0-9]{16,}",
    "openai-project": _EDGE + r"proj_[A-Za-z0-9]{16,}",
    "openai-user": _EDGE + r"user-[A-Za-z0-9]{20,}",
    "anthropic-account": r"user_[0-9a-f]{32,}_account_[0-9a-f\-]*(?:_session_[0-9a-f\-]*)?",
    "account": r"(?P<q2>" + _Q + r")(?i:account[_\-]?(?:uuid|id)|organi[sz]ation[_\-]?(?:uuid|id)|org[_\-]?(?:uuid|id)"
               r"|workspace[_\-]?id|device[_\-]?id|user_email|email_address|account_email)(?P=q2)\s*:\s*(?P=q2)"
               r"(?P<s>[^\"'\s]{6,}?)(?=(?P=q2))",
    "google-project": r"(?:\bprojects/|\bproject_number:|\bproject number )(?P<s>\d{6,})",
    "aws-account": r"\barn:aws[a-z\-]*:[a-z0-9\-]+:[a-z0-9\-]*:(?P<s>\d{12})",
}  # fmt: skip

# Headers whose value is never kept. The first kind are credentials, the second say whose account it is.
SECRET_HEADERS = frozenset({
    "authorization", "proxy-authorization", "x-api-key", "api-key", "apikey", "x-goog-api-key", "x-auth-token",
    "x-access-token", "x-amz-security-token", "ocp-apim-subscription-key", "x-functions-key", "x-csrf-token",
    "cookie", "set-cookie", "x-claude-session-token", "x-goog-iam-authorization-token", "x-subscription-token",
})  # fmt: skip
ACCOUNT_HEADERS = frozenset({
    "openai-organization", "openai-project", "anthropic-organization-id", "anthropic-workspace-id",
    "chatgpt-account-id", "x-goog-user-project", "x-organization-id", "x-account-id", "x-amzn-account-id",
    "anthropic-account-id", "x-openai-internal-account", "x-codex-installation-id",
})  # fmt: skip
# Parameters of a query whose value is never kept.
SECRET_PARAMETERS = frozenset({
    "key", "api_key", "apikey", "api-key", "access_token", "auth_token", "token", "sig", "signature", "client_secret",
    "code", "password", "x-amz-signature", "x-amz-credential", "x-amz-security-token", "x-goog-signature",
    "x-goog-credential", "subscription-key", "upload_id",
})  # fmt: skip

# What a text must hold, in lower case, before it is searched for a form; forms that are not here are always looked for.
_NEEDLES: dict[str, tuple[str, ...]] = {
    "anthropic-key": ("sk-ant-",), "openrouter-key": ("sk-or-",), "openai-key": ("sk-",), "secret-key": ("sk-",),
    "openai-session": ("sess-",), "google-key": ("aiza",), "google-key-new": ("aq.",), "google-oauth": ("ya29.",),
    "google-refresh": ("1//0",), "google-secret": ("gocspx-",),
    "aws-key-id": ("akia", "asia", "abia", "acca", "agpa", "aida", "aroa", "anpa", "anva", "aipa"),
    "bedrock-key": ("absk", "bedrock-api-key-"), "github-token": ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
    "github-token-fine": ("github_pat_",), "gitlab-token": ("glpat", "gldt", "glrt", "glptt", "glsoat", "glcbt"),
    "slack-token": ("xox", "xapp-"), "slack-hook": ("hooks.slack.com",), "discord-hook": ("/api/webhooks/",),
    "jwt": ("eyj",), "huggingface-token": ("hf_",), "groq-key": ("gsk_",), "xai-key": ("xai-",),
    "perplexity-key": ("pplx-",), "replicate-token": ("r8_",), "fireworks-key": ("fw_",), "cerebras-key": ("csk-",),
    "nvidia-key": ("nvapi-",), "together-key": ("tgp_v",), "tavily-key": ("tvly-",),
    "langsmith-key": ("ls_", "lsv2_"), "logfire-token": ("pylf_",), "databricks-token": ("dapi",),
    "stripe-key": ("_live_", "_test_", "whsec_"), "sendgrid-key": ("sg.",), "npm-token": ("npm_",),
    "pypi-token": ("pypi-",), "digitalocean-token": ("_v1_",), "telegram-token": (":aa",),
    "private-key": ("-----begin",), "bearer": ("bearer",), "authorization": ("authorization",), "basic": ("basic",),
    "url-password": ("://",), "url-key": ("?", "&"),
    "named": ("key", "token", "secret", "credential", "authorization", "cookie"),
    "assigned": ("key", "token", "secret", "passw"), "openai-organization": ("org-",), "openai-project": ("proj_",),
    "openai-user": ("user-",), "anthropic-account": ("_account_",),
    "account": ("account", "organi", "org", "workspace", "device", "email"), "google-project": ("project",),
    "aws-account": ("arn:aws",),
}  # fmt: skip
_ALL = [(kind, re.compile(form), _NEEDLES.get(kind, ("",))) for kind, form in FORMS.items()]
_ANY = re.compile("|".join(sorted({re.escape(needle) for _, _, needles in _ALL for needle in needles})))
_RUN = re.compile(r"[A-Za-z0-9+/_\-]{16,}(?:(?:\r?\n|\\r\\n|\\n)[A-Za-z0-9+/_\-]{4,})*={0,2}")
_BREAK = re.compile(r"\r?\n|\\r\\n|\\n")
_URLSAFE = str.maketrans("-_", "+/")
_MOST_NESTED = 4
_LONG_RUN = 16_384  # characters from which a run is only read from its beginning
_SCRUBBED = re.compile(r"scrubbed-[a-z\-]+")


class Span(NamedTuple):
    """A secret in a text: where, what replaces it, and its kind."""

    start: int
    end: int
    instead: str
    kind: str


def placeholder(kind: str) -> str:
    """What stands in a secret's place: `scrubbed-openai-key`."""
    return f"scrubbed-{kind}"


def find(text: str, known: Iterable[str] = (), *, depth: int = 0) -> list[Span]:
    """The secrets of a text from left to right, none within another; `known` are values to be found literally.

    Base64 is looked into, also base64 in base64; the span is then the whole run, with its content scrubbed.
    """
    found = [*_literal(text, known), *_formed(text)]
    if depth < _MOST_NESTED:
        found += _encoded(text, known, depth)
    return _apart(found)


def replaced(text: str, spans: Iterable[Span]) -> str:
    """The text with its secrets replaced."""
    parts, at = list[str](), 0
    for span in spans:
        parts += (text[at : span.start], span.instead)
        at = span.end
    return "".join((*parts, text[at:]))


def _literal(text: str, known: Iterable[str]) -> Iterator[Span]:
    for value in known:
        at = text.find(value)
        while at >= 0:
            yield Span(at, at + len(value), placeholder("known"), "known")
            at = text.find(value, at + len(value))


def _formed(text: str) -> Iterator[Span]:
    low = text.lower()
    if _ANY.search(low) is None:
        return
    for kind, form, needles in _ALL:
        if not any(needle in low for needle in needles):
            continue
        for match in form.finditer(text):
            group = "s" if "s" in form.groupindex and match["s"] is not None else 0
            start, end = match.span(group)
            if not _SCRUBBED.match(text, start):
                yield Span(start, end, placeholder(kind), kind)


def _encoded(text: str, known: Iterable[str], depth: int) -> Iterator[Span]:
    for match in _RUN.finditer(text):
        run = match[0]
        flat = _BREAK.sub("", run)
        for skip in range(4) if len(flat) <= _LONG_RUN else (0,):
            made = _within(flat[skip:], known, depth)
            if made is not None:
                yield Span(match.start(), match.end(), flat[:skip] + made, "base64")
                break


def _within(run: str, known: Iterable[str], depth: int) -> str | None:
    """The run with the secrets that it encodes scrubbed; None if it has none."""
    bare = run.rstrip("=")
    whole = bare[: len(bare) - (len(bare) % 4 == 1)]
    try:
        data = binascii.a2b_base64(whole.translate(_URLSAFE) + "=" * (-len(whole) % 4))
    except binascii.Error:
        return None
    text = data.decode("latin-1")
    spans = find(text, known, depth=depth + 1)
    if not spans:
        return None
    made = binascii.b2a_base64(replaced(text, spans).encode("latin-1"), newline=False).decode()
    if "-" in bare or "_" in bare:
        made = made.translate(str.maketrans("+/", "-_"))
    return made if run.endswith("=") or len(bare) % 4 == 0 else made.rstrip("=")


def _apart(found: list[Span]) -> list[Span]:
    """Overlapping spans as one; the kind and the words are those of the one that begins first, the longest of these."""
    made: list[Span] = []
    for span in sorted(found, key=lambda s: (s.start, -s.end)):
        if made and span.start < made[-1].end:
            if span.end > made[-1].end:
                kind = made[-1].kind if made[-1].kind != "base64" else span.kind
                made[-1] = Span(made[-1].start, span.end, placeholder(kind), kind)
            continue
        made.append(span)
    return made
