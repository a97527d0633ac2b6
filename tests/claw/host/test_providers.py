"""Adapters over the SDKs: made once, on one client, over the transport that was given."""

import asyncio

import httpx2
import pytest

from claw.core.errors import ClawError
from claw.host import SdkProviders


def test_the_same_account_gets_the_same_adapter_and_another_its_own():
    async def story():
        providers = SdkProviders(httpx2.MockTransport(lambda request: httpx2.Response(200)))
        one = providers.open("anthropic", base_url="http://a", key="k")
        assert providers.open("anthropic", base_url="http://a", key="k") is one
        assert providers.open("anthropic", base_url="http://b", key="k") is not one
        assert providers.open("anthropic", base_url="http://a", key="other") is not one
        await providers.close()
        assert providers.open("anthropic", base_url="http://a", key="k") is not one
        await providers.close()

    asyncio.run(story())


def test_a_provider_that_does_not_exist_is_bad_input():
    with pytest.raises(ClawError, match="there is no provider `nobody`"):
        SdkProviders().open("nobody", base_url=None, key="k")


def test_closing_what_was_never_opened_is_nothing():
    asyncio.run(SdkProviders().close())
