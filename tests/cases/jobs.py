"""Configurations of one job for cases of serdes: a file in, steps, files out."""

BAD = "dead.jsonl"


def job(source, serde, steps=(), out_serde='"json"', out="out.jsonl", policy="dead_letter"):
    """From one file to another; record errors go to dead.jsonl. Serdes and steps as they stand in a file."""
    flow = ",\n          ".join("{ " + step + " }" for step in from_to(steps))
    return f"""application: {{
  name = "case";  record_errors = "{policy}";
  dead_letters: {{ system = "files"; path = "{BAD}"; serde = "json"; }};
  systems: {{ files: {{ type = "file"; }}; }};
  inputs:  {{ in: {{ system = "files"; path = "{source}"; bounded = true; serde{assigned(serde)}; }}; }};
  outputs: {{ out: {{ system = "files"; path = "{out}"; serde{assigned(out_serde)}; }}; }};
  flow: ( {flow} );
}};
"""


def from_to(steps):
    all_steps = [*steps, 'to = "out";']
    return ['from = "in"; ' + all_steps[0], *all_steps[1:]]


def assigned(value):
    return f": {value}" if value.startswith("{") else f" = {value}"


def run(case, text, expect=0, env=None):
    case.flowd.write("job.conf", text)
    return case.flowd("run", "job.conf", expect=expect, env=env)
