"""What the quickstart must give, computed with nothing of flowd: exact sums, one rounding. Prints sorted JSON lines.

usage: late_flights_oracle.py FLIGHTS.csv CARRIERS.csv [LEAST_DELAY]"""
import csv
import json
import sys
from collections import defaultdict
from fractions import Fraction


def late_flights(flights, carriers, least=15):
    names = {row["carrier"]: row["name"] for row in csv.DictReader(carriers)}
    groups = defaultdict(list)
    for row in csv.DictReader(flights):
        if row["dep_delay"] != "NA" and int(row["dep_delay"]) > least:
            groups[row["time_hour"], row["carrier"]].append(int(row["dep_delay"]))
    for (hour, carrier), delays in groups.items():
        mean = float(Fraction(sum(delays), len(delays)))
        yield {"hour": hour, "carrier": carrier, "name": names[carrier], "flights": len(delays), "mean_dep_delay": mean}


if __name__ == "__main__":
    with open(sys.argv[1], newline="") as flights, open(sys.argv[2], newline="") as carriers:
        rows = late_flights(flights, carriers, int(sys.argv[3]) if len(sys.argv) > 3 else 15)
        print("\n".join(sorted(json.dumps(row) for row in rows)))
