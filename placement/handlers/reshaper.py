"""/reshaper (rest-api.md 3.10)."""

from placement.errors import (
    AllocationRefused,
    BadRequest,
    InventoryInUse,
    LostRace,
    ResourceClassNotFound,
    worded,
)
from placement.handlers.allocations import requests_from
from placement.handlers.inventories import stock_from
from placement.http.call import Answer, Call
from placement.operations.reshaper import Stock
from placement.operations.reshaper import reshape as run
from placement.schemas import reshaper as schemas


@worded(
    (ResourceClassNotFound, BadRequest, "malformed reshaper data: {error}"),
    (AllocationRefused, AllocationRefused, "Unable to allocate inventory: {error}"),
    (InventoryInUse, InventoryInUse, "update conflict: {error}"),
    (LostRace, LostRace, "update conflict: {error}"),
)
def reshape(call: Call) -> Answer:
    """POST /reshaper"""
    call.authorize("placement:reshaper:reshape")
    body = call.read(schemas.RESHAPE)
    stocks: dict[str, Stock] = {
        uuid: (
            given["resource_provider_generation"],
            stock_from(given["inventories"]),
        )
        for uuid, given in body["inventories"].items()
    }
    run(call.database, stocks, requests_from(call, body["allocations"]), call.tries)
    return call.reply()
