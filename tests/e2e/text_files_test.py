"""Text files as people have them: types found while planning, dialects, and what a record error says."""
import e2e


class Csv(e2e.Test):
    def plan_and_run(self, text, serde, code=0):
        self.write("in.csv", text)
        self.write("job.conf", e2e.job(source="in.csv", serde=serde))
        return self.flowd("plan", "job.conf", expect=0).out, self.flowd("run", "job.conf", expect=code)

    def test_types_are_found_before_the_run_and_shown(self):
        names = [f"number_of_things_{i}" for i in range(9)]
        text = ",".join(["day", *names]) + "\n" + "2024-01-31," + ",".join("7" for _ in names) + "\n"
        plan, _ = self.plan_and_run(text, '{ type = "csv"; infer = "exact"; }')
        self.assertIn("found in the data:\n        day date?, number_of_things_0 int64?", plan)
        self.assertIn("number_of_things_8 int64?\n", plan)
        self.assertEqual(self.records("out.jsonl"), [{"day": "2024-01-31", **{name: 7 for name in names}}])

    def test_a_value_that_contradicts_an_inferred_type(self):
        text = "id,n\n" + f"{'0' * 1000},5\n" * 1200 + "y,many\n"
        _, failed = self.plan_and_run(text, '{ type = "csv"; infer = "exact"; }', code=1)
        self.assertIn('in.csv:1202: field n: "many" is not of type int64?, which was inferred from the first rows', failed.err)
        self.assertIn('declare the column: fields: { n = "string?"; }', failed.err)

    def test_a_record_error_names_its_field_once(self):
        _, failed = self.plan_and_run("id,n\n1,x\n", '{ type = "csv"; fields: { n = "int64"; }; }', code=1)
        self.assertIn('in.csv:2: field n: "x" is not of type int64', failed.err)
        self.assertNotIn('field "n"', failed.err)

    def test_a_german_export(self):
        serde = """{ type = "csv"; delimiter = ";"; decimal_mark = ","; thousands = "."; extra = "ignore"; missing = "null";
            rename: { price = "Preis (EUR)"; }; fields: { price = "decimal(9,2)"; sold = "int64?"; note = "string?"; }; }"""
        self.plan_and_run("Artikel;Preis (EUR);sold\r\n\"Stuhl; rot\";1.234,5;12.000\r\n", serde)
        self.assertEqual(self.flowd.read("out.jsonl"), b'{"price":1234.50,"sold":12000,"note":null}\n')

    def test_carriage_returns_alone(self):
        self.write("in.csv", "a,b\r1,2\r")
        self.write("job.conf", e2e.job(source="in.csv", serde='"csv"'))
        refused = self.flowd("run", "job.conf", expect=1)
        self.assertIn("lines end in carriage returns alone", refused.err)


if __name__ == "__main__":
    e2e.main()
