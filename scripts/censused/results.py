"""Tables → figures: runs the SQL of scripts/censused/sql by DuckDB and keeps what it answers in docs/results/census/results.json.

The file has one part for each step, `census` and `levels`, and each part one list of rows for each query, named as its file.
"""

import json
import os

from censused.groups import LISTS, RESULTS, Fault

SQL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sql")


def rows(tables, sql):
    """The rows of a query as dictionaries. Queries name the tables as `deburr query` does: FOLDER/*.parquet in the current folder."""
    try:
        import duckdb
    except ImportError:
        raise Fault("the Python module duckdb is missing: pip install duckdb") from None
    connection = duckdb.connect()
    for name, value in {"SET file_search_path": tables, "SET VARIABLE lists": LISTS}.items():
        connection.execute(f"{name} = '" + value.replace("'", "''") + "'")
    try:
        cursor = connection.execute(sql)
    except duckdb.Error as error:
        raise Fault(f"{tables}: {error}") from None
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row)) for row in cursor.fetchall()]


def queries(step):
    """The queries of a step by name, after what they have in common."""
    common = read(os.path.join(SQL, step, "common.sql"))
    named = sorted(name[:-len(".sql")] for name in os.listdir(os.path.join(SQL, step)) if name.endswith(".sql") and name != "common.sql")
    return {name: common + read(os.path.join(SQL, step, name + ".sql")) for name in named}


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def answers(tables, step):
    return {name: rows(tables, sql) for name, sql in queries(step).items()}


def answer(tables, step, query):
    """The rows of one query of a step."""
    return rows(tables, queries(step)[query])


def census(tables):
    return answers(tables, "census")


def load():
    with open(RESULTS, encoding="utf-8") as file:
        return json.load(file)


def renew(step, figures):
    """Puts the figures of one step into the file, a row a line, so that a change is read line by line."""
    kept = load() if os.path.exists(RESULTS) else {}
    kept[step] = figures
    parts = []
    for name in sorted(kept):
        entries = []
        for query, value in kept[name].items():
            text = json.dumps(value, ensure_ascii=False)
            if isinstance(value, list):
                lines = ",\n".join("      " + json.dumps(row, ensure_ascii=False) for row in value)
                text = f"[\n{lines}\n    ]" if value else "[]"
            entries.append(f"    {json.dumps(query)}: {text}")
        parts.append(f"  {json.dumps(name)}: {{\n" + ",\n".join(entries) + "\n  }")
    with open(RESULTS + ".part", "w", encoding="utf-8") as out:
        out.write("{\n" + ",\n".join(parts) + "\n}\n")
    os.replace(RESULTS + ".part", RESULTS)
