"""Tokens that end are renewed in time, by one process at a time: a refresh token can often be used only once."""

import msgspec

from claw.auth import Credential, Keyring, Stored, load_keys, save_keys
from claw.core.classify import classify
from claw.core.errors import FailureKind, ProviderError, ProviderFailure
from claw.ports import Ports

LOCK_WAIT_S = 120.0


class Tokens:
    """The credentials in `HOME/credentials.json`."""

    def __init__(self, ports: Ports, home: str) -> None:
        self._ports = ports
        self._file = f"{home}/credentials.json"

    @property
    def keys(self) -> Keyring:
        """As they stand on disk now."""
        return load_keys(self._ports.files, self._file)

    async def key(self, credential: Credential) -> str:
        """The secret to send, renewed if it is about to end. Raises `ProviderError` (auth) when it cannot be."""
        if credential.type != "oauth":
            return credential.key
        stored = self.keys.get(credential.id)
        if stored is None or not stored.stale(self._ports.clock.now()):
            return stored.secret if stored else credential.key
        try:
            async with self._ports.files.lock(self._file, wait_s=LOCK_WAIT_S):
                fresh = self.keys.get(credential.id) or stored  # another process may have renewed it meanwhile
                if fresh.stale(self._ports.clock.now()):
                    fresh = await self._renew(fresh)
                return fresh.secret
        except TimeoutError as error:
            failure = ProviderFailure(kind=FailureKind.TIMEOUT, message=f"{credential.id} is being renewed: {error}")
            raise ProviderError(failure) from None

    async def _renew(self, stored: Stored) -> Stored:
        status, headers, body = await self._ports.providers.post(stored.token_url, stored.renewal())
        if status >= 300:
            failure = classify(stored.provider, status, headers, body)
            if failure.kind is FailureKind.BAD_REQUEST or status in (400, 401, 403):  # `invalid_grant` and its kin
                failure = msgspec.structs.replace(failure, kind=FailureKind.AUTH, hopeless=True)
            message = f"`{stored.id}` could not be renewed, log in anew: {failure.message}"
            raise ProviderError(msgspec.structs.replace(failure, message=message))
        try:
            fresh = stored.renewed(body, self._ports.clock.now())
        except ValueError as error:
            message = f"`{stored.id}` could not be renewed: {error}"
            raise ProviderError(ProviderFailure(kind=FailureKind.SERVER_ERROR, message=message)) from None
        save_keys(self._ports.files, self._file, self.keys.put(fresh))
        return fresh
