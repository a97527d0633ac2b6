"""How vendors word their failures, as data for `claw.core.classify`. Texts are matched in lower case.

Sources: the error pages and recorded answers of each vendor, and the lists that OpenClaw and Pi match by (their union,
with the false friends of both looked at first).
"""

from claw.core.errors import FailureKind as Kind

# Codes that decide by themselves: `error.type`, `error.code`, Google's `status`, AWS's `__type`, in lower case, with
# "-" as "_". Earlier rows win when an answer carries several.
STRONG_CODES: tuple[tuple[Kind, str], ...] = (
    (
        Kind.CONTEXT_OVERFLOW,
        "context_length_exceeded context_window_exceeded model_context_window_exceeded exceed_context_size_error "
        "model_max_prompt_tokens_exceeded request_too_large 1261",
    ),
    (Kind.SESSION_EXPIRED, "previous_response_not_found session_not_found conversation_not_found session_expired"),
    (
        Kind.BILLING,
        "insufficient_quota billing_error payment_required billing_hard_limit_reached arrearage "
        "exceeded_current_quota_error 1113 1311",
    ),
    (
        Kind.OVERLOADED,
        "overloaded_error overloaded engine_overloaded_error server_is_overloaded modelnotreadyexception "
        "compaction_unavailable unavailable_error 1305",
    ),
    (
        Kind.RATE_LIMITED,
        "rate_limit_error rate_limit rate_limited rate_limit_exceeded rate_limit_reached rate_limit_reached_error "
        "too_many_requests too_many_tokens_error token_quota_exceeded throttlingexception throttling "
        "throttling_exception servicequotaexceededexception resource_exhausted model_cooldown ramp_limit_exceeded "
        "enforced_spend_limit_reached 1302 1303",
    ),
    (Kind.MODEL_NOT_FOUND, "model_not_found model_not_available deploymentnotfound invalid_model 1211"),
    (Kind.AUTH, "invalid_api_key api_key_invalid unauthenticated invalid_authentication account_deactivated"),
    (
        Kind.REFUSED,
        "content_filter content_policy_violation responsibleaipolicyviolation datainspectionfailed "
        "data_inspection_failed bio_policy misalignment_policy_violation",
    ),
    (
        Kind.POISONED_HISTORY,
        "image_dimensions_too_large invalid_encrypted_content compaction_block_misplaced invalid_request_message_order",
    ),
)

# Codes that decide only when the text says nothing.
WEAK_CODES: tuple[tuple[Kind, str], ...] = (
    (
        Kind.AUTH,
        "authentication_error permission_error permission_denied accessdeniedexception access_denied "
        "expiredtokenexception unrecognizedclientexception",
    ),
    (Kind.MODEL_NOT_FOUND, "not_found_error not_found resourcenotfoundexception"),
    (Kind.TIMEOUT, "timeout_error deadline_exceeded modeltimeoutexception etimedout esockettimedout cancelled"),
    (Kind.OVERLOADED, "unavailable capacity_exceeded service_unavailable_error serviceunavailableexception"),
    (
        Kind.TRANSPORT,
        "econnreset econnrefused econnaborted enetunreach ehostunreach ehostdown enetreset epipe enotfound eai_again "
        "und_err_socket und_err_connect_timeout",
    ),
    (
        Kind.SERVER_ERROR,
        "api_error server_error internal internal_error internal_server_error internalserverexception "
        "modelstreamerrorexception modelerrorexception",
    ),
    (Kind.BAD_REQUEST, "invalid_request_error invalid_argument badrequesterror validationexception invalid_prompt"),
)

# MiniMax answers 200 with `base_resp.status_code`.
BASE_RESP: dict[int, Kind] = {
    1001: Kind.TIMEOUT,
    1002: Kind.RATE_LIMITED,
    1004: Kind.AUTH,
    1008: Kind.BILLING,
    1013: Kind.SERVER_ERROR,
    1039: Kind.RATE_LIMITED,
    1041: Kind.RATE_LIMITED,
    2049: Kind.AUTH,
}

# Looked at first, whoever sends it: what another rule would get wrong.
FALSE_FRIENDS: tuple[tuple[Kind, str], ...] = (
    # a 429 of Anthropic's long-context tier: the same account takes a smaller prompt
    (Kind.CONTEXT_OVERFLOW, r"extra usage is required for long context"),
    # Bedrock and Cerebras limit a rate in the words of an overflow
    (Kind.RATE_LIMITED, r"too many tokens(?:,| per day,) please wait|too many tokens processed"),
    # a cap on spending in the words, and once with the code, of a rate limit
    (Kind.BILLING, r"specified api usage limits.*regain access on|free usage quota exceeded"),
    (Kind.BAD_REQUEST, r"context window (?:is )?too small|context window .{0,60}minimum is"),
    (Kind.BAD_REQUEST, r"reasoning is (?:mandatory|required)|reasoning.{0,40}cannot be disabled"),
)

# By provider, "" for any: (part of its name, statuses or None, pattern or "" for an empty body, kind).
PROVIDER_RULES: tuple[tuple[str, tuple[int, ...] | None, str, Kind], ...] = (
    ("cerebras", (400, 413), "", Kind.CONTEXT_OVERFLOW),
    ("cerebras", (400, 413), r"\(no body\)", Kind.CONTEXT_OVERFLOW),
    ("", (400,), r"^invalid request body$", Kind.CONTEXT_OVERFLOW),  # GitHub Copilot, 48 recorded answers
    ("copilot", (413,), r"^failed to parse request", Kind.CONTEXT_OVERFLOW),
    ("openrouter", None, r"\bkey limit exceeded", Kind.BILLING),
)

# A text that speaks of a rate is never an overflow.
RATE_GUARD = (
    r"\btpm\b|\btpd\b|\brpm\b|tokens per (?:min|day|hour)|requests per (?:min|hour|day)|rate[ _-]?limit|"
    r"too many (?:concurrent )?requests|throttl|^service unavailable:"
)

OVERFLOW = "|".join(
    (
        r"request_too_large|request exceeds the maximum|context length exceeded|maximum context length",
        r"prompt (?:is )?too long|exceeds? (?:the )?model context window|model token limit|context overflow:",
        r"exceed context limit|exceed_context_size|maximum context|context_window_exceeded",
        r"context[ _]length[ _]exceeded",
        r"invalid_argument.*maximum number of tokens|input exceeds.*maximum number of tokens",
        r"request size exceeds.*context (?:window|length)|413.*too large",
        r"max_tokens.*exceed.*context|input length.*exceed",
        r"上下文过长|上下文超出|上下文长度超|超出最大上下文|请压缩上下文",
        r"input token count.*exceeds the maximum|input (?:is )?too long(?: for|$|\.)|input token exceed",
        r"total tokens.*exceeds (?:the )?(?:model(?:'s)? )?(?:max|limit)",
        r"(?:request|prompt)(?: \(\d+ tokens\))? exceeds (?:the )?available context size",
        r"exceeds? the context window|maximum prompt length is|reduce the length of (?:the|either)",
        r"exceeds the limit of \d|greater than the context length|context window exceeds limit",
        r"exceeded model token limit|too large for model with \d+ maximum|model_context_window_exceeded",
        r"exceeded (?:max )?context length|too many tokens|token limit exceeded",
        r"configured limit of \d+ tokens|longer than the model's context length|message too long: [\d,. ]+ tokens",
        r"range of input length should be|prompt exceeds max length|tokens in request more than max",
        r"requested token count exceeds|configured context size is|current length is \d+ while limit is",
        r"autocompact is thrashing|prompt has \d+ tokens, but|too many tokens: size limit exceeded",
    )
)

# The looser net, for texts that no rule knows and that do not speak of rates, quotas or money.
OVERFLOW_LIKELY = (
    r"context.{0,20}overflow|context window.{0,40}(?:too (?:large|long)|exceed|over|limit|max|requested|sent|tokens)|"
    r"prompt.{0,40}(?:too (?:large|long)|exceed|over the|limit|max)|"
    r"(?:request|input).{0,30}(?:context|window|length|tokens?).{0,30}(?:too (?:large|long)|exceed|over the|limit|max)"
)

# (kind, pattern), in order, for answers of any status.
TEXT_RULES: tuple[tuple[Kind, str], ...] = (
    (
        Kind.POISONED_HISTORY,
        r"image dimensions exceed max|image exceeds \d+(?:\.\d+)? ?mb maximum|"
        r"`tool_use` ids were found without|unexpected `tool_use_id`|`tool_use` ids must be unique|"
        r"without a corresponding `?\w*_tool_result|tool_use(?:\.id|_id).*should match pattern|"
        r"tool call id (?:was|is|must)|text content blocks must (?:be non-empty|contain non-whitespace)|"
        r"all messages must have non-empty content|no low surrogate|lone surrogate|"
        r"must end with a user message|invalid `signature` in `thinking`|thinking` blocks? .*cannot be modified|"
        r"expected `thinking` or `redacted_thinking`|roles must alternate|incorrect role information|"
        r"first message must use the .?user|must be followed by tool messages|"
        r"messages with role 'tool' must be a response|no tool (?:output|call) found for|"
        r"without its required 'reasoning' item|without its required following item|"
        r"function call turn comes immediately after|number of function response parts|missing a thought_signature|"
        r"encrypted content .*could not be verified|items are not persisted when|"
        r"not the same number of function calls and responses|unexpected role '\w+' after role|expected last role user|"
        r"reasoning_content.{0,60}must be passed back",
    ),
    (
        Kind.REFUSED,
        r"blocked by content filter|content management policy|blocked by .{0,30}safety|usage polic(?:y|ies) violation|"
        r"potentially violating our usage polic|may contain inappropriate content",
    ),
    (
        Kind.SESSION_EXPIRED,
        r"(?:session|conversation)(?: \S+)? (?:not found|does not exist|(?:has |is )?expired|is invalid)|"
        r"no conversation found|previous response with id \S+ not found|invalid session",
    ),
    (
        Kind.MODEL_NOT_FOUND,
        r"unknown model|model:? \S+ (?:was |is )?not (?:found|available|supported)|models?/\S+ is not found|"
        r"model \S+ does not exist|model .{0,80}(?:does not exist|no access|(?:has been )?deactivated|not found)|"
        r"the requested model .{0,40}(?:not|unavailable)|model identifier is invalid|is not a valid model|"
        r"invalid model:|model not exist|not found the model|no endpoints found for",
    ),
)

# Rate limits and money, in this order, once overflow is ruled out.
RATE_TEXT = (
    r"rate[ _-]?limit|too many (?:concurrent )?requests|throttl|model_cooldown|exceeded your current quota|"
    r"resource (?:has been |is )?exhausted|quota (?:has been )?exceeded|resource_exhausted|usage limit|\btpm\b|"
    r"tokens per (?:min|day)|\b(?:rpm|rpd|tpd)\b|concurrency limit (?:has been )?reached|max organization concurrency|"
    r"service tier capacity exceeded|exceed(?:ed)? token rate|"
    r"请求过于频繁|调用频率|频率限制|配额不足|配额已用尽|额度不足|额度已用尽|"
    r"(?:daily|weekly|monthly)(?:/\w+)? (?:usage |token )?limit"
)
OVERLOADED_TEXT = (
    r"overloaded|(?:selected )?model is at capacity|service unavailable.*(?:overload|capacity|high demand)|high demand|"
    r"high load|服务过载|当前负载过高|not ready for inference|server busy|service is too busy|^loading model$|"
    r"no instances available"
)
BILLING_TEXT = (
    r"payment required|insufficient credits?|used all available credits|spend(?:ing)? limit|insufficient[_ ]quota|"
    r"credit balance|plans & billing|have any credits|account .{0,60}suspended.{0,40}billing|"
    r"insufficient (?:\w+ )?balance|requires more credits|out of extra usage|"
    r"draw from your extra usage|extra usage is required|余额不足|欠费|\"code\":\s*\"?1311|"
    r"(?:http|status|code|error)[:= ]{1,3}402\b|^402\b"
)
BILLING_HARD = r"(?:http|status|code|error)[:= ]{1,3}402\b|^402\b|\"code\":\s*\"?1311"
BILLING_LONGEST = 512  # a longer text is prose that mentions money, unless it has a hard marker

# A 402 that means "not now" rather than "not paid".
LIMIT_THAT_REFILLS = (
    r"(?:try again|retry|resets?|wait).*(?:limit|quota|exceeded)|"
    r"(?:limit|quota|exceeded).*(?:try again|retry|resets?|wait)|"
    r"(?:daily|weekly|monthly) (?:usage |spend )?limit|(?:organization|workspace).*(?:exceeded|reached|exhausted)"
)

AUTH_TEXT = (
    r"api key (?:has been )?(?:revoked|deactivated|deleted|disabled)|key has been (?:disabled|revoked)|"
    r"account has been deactivated|organization has been disabled|"
    r"not allowed for this organization|invalid (?:x-)?api[- ]key|incorrect api key|"
    r"api key not valid|could not (?:authenticate|validate).*(?:api key|credentials)|permission_error|"
    r"re-?authenticate|oauth token refresh failed|no credentials found|no api key found|missing scopes?:|"
    r"failed to (?:extract|parse|validate|decode).*token|"
    r"无权访问|认证失败|鉴权失败|密钥无效|user location is not supported"
)
# Words too common to trust when the status already says what happened.
AUTH_LOOSE = (
    r"invalid token|authentication|unauthorized|forbidden|access denied|insufficient permissions?|expired|"
    r"\b401\b|\b403\b|please run /login|not logged in"
)
# Waiting or asking the same account again cannot help.
HOPELESS = (
    r"revoked|deactivated|request too large|must be reduced|perday|regain access on|free usage quota|"
    r"spend(?:ing)?[ _]limit"
)
HOPELESS_TRANSPORT = r"certificate"
# The same, unless the answer says how long it takes.
HOPELESS_UNTOLD = r"per[ -]day|\btpd\b|\brpd\b|daily|weekly|monthly"

TIMEOUT_TEXT = r"timeout|timed out|deadline exceeded|operation was aborted|请求超时"
TRANSPORT_TEXT = (
    r"connection error|network (?:error|request failed)|network_error|fetch failed|socket hang up|"
    r"econn(?:refused|reset|aborted)|enetunreach|ehostunreach|ehostdown|enetreset|etimedout|esockettimedout|\bepipe\b|"
    r"enotfound|eai_again|und_err_\w+|^terminated$|connection (?:reset|lost|closed|refused)|other side closed|"
    r"stream (?:was )?(?:closed|aborted)|without sending (?:any )?chunks?|ended without|websocket (?:closed|error)|"
    r"peer closed connection|server disconnected|incomplete chunked read|certificate|remote protocol error|"
    r"http2 request did not get a response|reset before headers|getaddrinfo|name resolution|网络(?:错误|异常)"
)
SERVER_TEXT = (
    r"an error occurred while processing|had an error while processing|internal (?:server )?error|internal_error|"
    r"server_error|service (?:is )?(?:temporarily )?unavailable|service_unavailable|bad gateway|gateway timeout|"
    r"upstream (?:connect )?error|http 5\d\d|stop reason: (?:abort|error|malformed_response|network_error)|"
    r"finish_reason: (?:abort|error|malformed_response|network_error)|^request failed|"
    r"request failed after repeated internal retries|provider returned error|an? unknown error|unknown error|"
    r"内部错误|服务(?:器)?(?:错误|异常|不可用)"
)
BAD_REQUEST_TEXT = r"string should match pattern|invalid request format|tool_use\.id|tool_use_id|field required"

STATUS: dict[int, Kind] = {
    400: Kind.BAD_REQUEST,
    401: Kind.AUTH,
    402: Kind.BILLING,
    403: Kind.AUTH,
    404: Kind.MODEL_NOT_FOUND,
    405: Kind.BAD_REQUEST,
    408: Kind.TIMEOUT,
    409: Kind.SERVER_ERROR,
    410: Kind.SERVER_ERROR,
    413: Kind.CONTEXT_OVERFLOW,
    422: Kind.BAD_REQUEST,
    424: Kind.SERVER_ERROR,
    425: Kind.SERVER_ERROR,
    429: Kind.RATE_LIMITED,
    499: Kind.TIMEOUT,
    504: Kind.TIMEOUT,
    522: Kind.TIMEOUT,
    524: Kind.TIMEOUT,
    529: Kind.OVERLOADED,
}

# Sizes in overflow texts: `n` what was sent, `m` the most that fits, `out` the output that was asked for.
_N, _M, _OUT = r"(?P<n>\d[\d,]*)", r"(?P<m>\d[\d,]*)", r"(?P<out>\d[\d,]*)"
SIZES: tuple[str, ...] = (
    rf"{_N} \+ {_OUT} > {_M}",
    rf"{_OUT} > {_M} - {_N}\b",
    rf"{_N} tokens > {_M}",
    rf"prompt length is {_M} but the request contains {_N}",
    rf"input token count \({_N}\) exceeds the maximum number of tokens allowed \({_M}\)",
    rf"maximum number of (?:input )?tokens (?:allowed )?\(?{_M}",
    rf"contains {_N} tokens.*with {_M} maximum",
    rf"too long: {_N}, model maximum context length: {_M}",
    rf"input length \(?{_N}\)? exceeds (?:the |model's )?maximum (?:allowed input |context )?length (?:of )?\(?{_M}",
    rf"input \({_N} tokens\) is longer than the model's context length \({_M}",
    rf"current length is {_N} while limit is {_M}",
    rf"n_keep: {_N} >= n_ctx: {_M}",
    rf"message too long: {_N} tokens exceeds the {_M}-token",
    rf"request \({_N} tokens\) exceeds the available context size \({_M}",
    rf"prompt token count of {_N} exceeds the limit of {_M}",
    rf"token limit: {_M} \(requested: {_N}\)",
    rf"input length should be \[1, {_M}\]",
    rf"prompt has {_N} tokens, but the configured context size is {_M}",
    rf"maximum context length (?:is|of) {_M}.*(?:your request has|prompt contains(?: at least)?) {_N} input tokens",
    rf"(?:maximum context length is|configured limit of) {_M}.*(?:requested(?: about)?|resulted in) {_N} tokens",
    rf"maximum context length (?:is|of) {_M}",
    rf"(?:requested|resulted in) {_N} tokens",
)
INPUT_PARTS = r"(\d[\d,]*) (?:of (?:text|tool|image|audio) input|in the (?:messages|functions|prompt))"
OUTPUT_PARTS = r"(\d[\d,]*) in the (?:completion|output)|requested (\d[\d,]*) output tokens|is too large: (\d[\d,]*)\."
OUTPUT_LIMIT = (
    r"(?:max_tokens|max_output_tokens|max_completion_tokens): (?P<out>\d+) > (?P<m>\d+), which is the maximum allowed",
    r"valid range of max_tokens is \[1, (?P<m>\d+)\]",
    r"max(?:_completion)?_tokens.{0,40}too large.{0,80}at most (?P<m>\d+) (?:completion|output) tokens",
)
