"""/berth/v1/names: what the operator calls aggregates, projects and users (extensions.md 14)."""

from placement.http.call import NOW, Answer, Call


def show(call: Call) -> Answer:
    """GET /berth/v1/names"""
    call.authorize("berth:names")
    return call.reply(text=call.names(), modified=NOW)
