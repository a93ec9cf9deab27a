"""The same pull as Signalhouse's, written for dlt as its documentation shows: one resource for each list, transformers for
what is fetched of each item, `merge` with primary keys, and `incremental` where an item has a cursor.

python signals.py careful|cursors pulls into ./warehouse.duckdb and prints CPU time and peak memory as JSON. Messages that come
again in the same run are dropped, and Parquet is the file format: with dlt's default (INSERT statements) the load of
2,000 messages takes 28 s of CPU and 3.7 GB.
python signals.py rows prints the number of rows, and how many repeat an entity that their table has already.

careful  a child is skipped only where a cursor says that it has not changed: what is fetched of a topic follows
         updatedAt; conversations and activity of people and companies follow lastSeenAt. The rest is fetched every day.
cursors  all that is fetched of an item follows the cursor of its list: the fewest requests that dlt can make. Changes that
         move no cursor (a name, a VIP flag, a merge) are not seen.
"""

import json
import math
import os
import resource
import sys
from functools import cache

import dlt
import duckdb
from dlt.sources.helpers.requests import Client
from dlt.sources.helpers.rest_client import RESTClient
from dlt.sources.helpers.rest_client.auth import BearerTokenAuth
from dlt.sources.helpers.rest_client.paginators import PageNumberPaginator

PAGE_SIZE = 100
ACTORS = ["user", "agent", "system"]


class TotalCountPaginator(PageNumberPaginator):
    """Ends after the last page: totalCount counts items, and PageNumberPaginator expects a number of pages."""

    def __init__(self):
        super().__init__(base_page=1, page_param="page", total_path=None)

    def update_state(self, response, data=None):
        body = response.json()
        pages = math.ceil(body["totalCount"] / body["limit"]) if body.get("limit") else 1
        self.current_value += 1
        self._has_next_page = self.current_value <= pages


# The client of dlt repeats 429 and 5xx, and waits as long as Retry-After says.
client = RESTClient(
    base_url=os.environ["SIGNALHOUSE_BASE_URL"],
    auth=BearerTokenAuth(os.environ["SIGNALHOUSE_API_KEY"]),
    session=Client(request_max_attempts=10, raise_for_status=False).session,
)


def one(path, **params):
    """The answer of a path; None when it does not exist (any more)."""
    response = client.get(path, params=params)
    if response.status_code == 404:
        return None
    response.raise_for_status()
    return response.json()


def pages(path, **params):
    """The items of a paged list."""
    for page in client.paginate(
        path, params={"limit": PAGE_SIZE, **params}, paginator=TotalCountPaginator(), data_selector="data"
    ):
        yield from page


def rows(items, table, key):
    """Items of a table other than that of the resource."""
    hints = dlt.mark.make_hints(table_name=table, primary_key=key, write_disposition="merge")
    return dlt.mark.with_hints(items, hints, create_table_variant=True)


def conversations(items, kind, key, seen):
    """Conversations, their messages, and whose they are: each message is one row, wherever it was found. Those that this
    run has `seen` are left out, as the same message comes by its topic, its company and each person."""
    links = f"{kind}_groups"
    yield rows([item["group"] for item in items], "groups", "id")
    yield rows([{f"{kind}_id": key, "group_id": item["group"]["id"]} for item in items], links, [f"{kind}_id", "group_id"])
    fresh = []
    for item in items:
        for message in item["messages"]:
            if message["id"] not in seen:
                seen.add(message["id"])
                fresh.append({**message, "group_id": item["group"]["id"]})
    yield rows(fresh, "messages", "id")


def history(answer, kind, key):
    answer = answer or {"history": [], "merges": []}
    for record in answer["history"]:
        yield {**record, "entity": kind, "entity_id": key}
    yield rows([{**merge, "entity": kind, "entity_id": key} for merge in answer["merges"]], "merges", "id")


@dlt.source(max_table_nesting=2)
def signals(cursors: bool):
    seen = set()

    @cache
    def listed(name):
        """The items of a list, which is read once in a run."""
        if name == "stories":
            buckets = ("everything", "archived")
            return [story for bucket in buckets for story in one("stories", bucket=bucket, limit=PAGE_SIZE)["stories"]]
        if name == "channels":
            return one("channels")["channels"]
        if name == "automation_templates":
            return one("automation-templates")["templates"]
        return list(pages(name))

    def items_of(name, key="id"):
        return dlt.resource(lambda: listed(name), name=name, primary_key=key, write_disposition="merge")

    def changed(name, cursor, key="id"):
        """The items whose cursor has moved since the last run."""

        @dlt.resource(name=f"changed_{name}", selected=False)
        def moved(cursor=dlt.sources.incremental(cursor, on_cursor_value_missing="include", primary_key=key)):
            yield from listed(name)

        return moved

    topics, people, companies, channels = map(items_of, ("topics", "people", "companies", "channels"))
    stories, templates = items_of("stories", "draft__slug"), items_of("automation_templates", "slug")

    changed_topics = changed("topics", "updatedAt")
    active_people, active_companies = changed("people", "lastSeenAt"), changed("companies", "lastSeenAt")
    every_person, every_company = (active_people, active_companies) if cursors else (people, companies)
    every_story = changed("stories", "createdAt", ()) if cursors else stories
    every_channel = changed("channels", "updatedAt") if cursors else channels
    every_template = changed("automation_templates", "updatedAt", "slug") if cursors else templates

    def child(parent, name, key, **options):
        """A transformer of an item of `parent`, which merges by `key`."""
        return dlt.transformer(
            data_from=parent, name=name, primary_key=key, write_disposition="merge", parallelized=True, **options
        )

    @child(changed_topics, "topic_details", "id")
    def topic_details(topic):
        yield one(f"topics/{topic['id']}") or []

    @child(changed_topics, "topic_conversations", "id")
    def topic_conversations(topic):
        answer = one(f"topics/{topic['id']}/groups", order="asc") or {"data": []}
        yield from conversations(answer["data"], "topic", topic["id"], seen)

    @child(changed_topics, "topic_people", ["topic_id", "id"])
    def topic_people(topic):
        answer = one(f"topics/{topic['id']}/people") or {"data": []}
        for person in answer["data"]:
            yield {**person, "topic_id": topic["id"]}

    @child(changed_topics, "topic_history", "id", table_name="history")
    def topic_history(topic):
        yield from history(one(f"topics/{topic['id']}/history"), "topic", topic["id"])

    @child(every_person, "person_details", "id")
    def person_details(person):
        yield one(f"people/{person['id']}") or []

    @child(active_people, "person_conversations", "id")
    def person_conversations(person):
        yield from conversations(list(pages("groups", personId=person["id"])), "person", person["id"], seen)

    @child(every_person, "person_identities", ["person_id", "platform", "platform_id"])
    def person_identities(person):
        for identity in (one(f"people/{person['id']}/identities") or {"identities": []})["identities"]:
            yield {**identity, "person_id": person["id"]}

    @child(active_people, "person_source_stats", ["person_id", "source"])
    def person_source_stats(person):
        for stats in (one(f"people/{person['id']}/source-stats") or {"sourceStats": []})["sourceStats"]:
            yield {**stats, "person_id": person["id"]}

    @child(every_person, "person_history", "id", table_name="history")
    def person_history(person):
        answer = one(f"people/{person['id']}/history", limit=50, changedByFilter=ACTORS)
        yield from history(answer, "person", person["id"])

    @child(every_company, "company_details", "id")
    def company_details(company):
        yield one(f"companies/{company['id']}") or []

    @child(active_companies, "company_activity", "company_id")
    def company_activity(company):
        yield {**one(f"companies/{company['id']}/activity"), "company_id": company["id"]}

    @child(active_companies, "company_conversations", "id")
    def company_conversations(company):
        yield from conversations(list(pages("groups", companyId=company["id"])), "company", company["id"], seen)

    @child(every_company, "company_identities", ["company_id", "platform", "platform_id"])
    def company_identities(company):
        for identity in (one(f"companies/{company['id']}/identities") or {"identities": []})["identities"]:
            yield {**identity, "company_id": company["id"]}

    @child(every_company, "company_history", "id", table_name="history")
    def company_history(company):
        yield from history(one(f"companies/{company['id']}/history"), "company", company["id"])

    @child(every_channel, "channel_details", "id")
    def channel_details(channel):
        yield one(f"channels/{channel['id']}") or []

    @child(every_story, "story_details", "draft__slug")
    def story_details(story):
        answer = one(f"stories/{story['draft']['slug']}", includeArchived="true")
        yield answer["story"] if answer else []

    @child(every_template, "template_details", "slug")
    def template_details(template):
        yield one(f"automation-templates/{template['slug']}") or []

    found = [value for value in locals().values() if isinstance(value, dlt.sources.DltResource)]
    return list({one.name: one for one in found}.values())


def pull(cursors):
    pipeline = dlt.pipeline(
        "signals", destination=dlt.destinations.duckdb("warehouse.duckdb"), dataset_name="signals", pipelines_dir="state"
    )
    pipeline.run(signals(cursors), loader_file_format="parquet").raise_on_failed_jobs()
    spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return {
        "cpuSeconds": sum(one.ru_utime + one.ru_stime for one in spent),
        "peakRssMB": max(one.ru_maxrss for one in spent) / 1024,
    }


def count_rows():
    """The rows of all tables, without dlt's own."""
    file = duckdb.connect("warehouse.duckdb", read_only=True)
    columns = file.execute(
        "SELECT table_name, list_contains(list(column_name), 'id') FROM duckdb_columns()"
        " WHERE schema_name = 'signals' AND NOT starts_with(table_name, '_dlt') GROUP BY ALL"
    ).fetchall()
    total = {"rows": 0, "repeated": 0}
    for table, has_id in columns:
        key = "(topic_id, id)" if table == "topic_people" else "id"
        distinct = f"count(DISTINCT {key})" if has_id else "count(*)"
        rows, keys = file.execute(f'SELECT count(*), {distinct} FROM signals."{table}"').fetchall()[0]
        total["rows"] += rows
        total["repeated"] += rows - keys
    return total


if __name__ == "__main__":
    print(json.dumps(count_rows() if sys.argv[1] == "rows" else pull(cursors=sys.argv[1] == "cursors")))
