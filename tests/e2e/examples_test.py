"""The examples of the SDK do, with the executable, what stands in their folder. (tests/abi/sdk.py builds them out of the tree.)"""
import pathlib
import shutil

import e2e

PLUGINS = e2e.BUILD / "tests/abi/examples"


class Examples(e2e.Test):
    def test_each_example_gives_what_it_expects(self):
        folders = sorted(p.parent for p in (e2e.SOURCE / "sdk/examples").glob("*/expected.jsonl") if list(p.parent.glob("*.conf")))
        self.assertLessEqual({"function", "serde", "system"}, {p.name for p in folders})
        if not (PLUGINS / "discount.so").exists():  # without avro-c it is not built
            folders = [folder for folder in folders if folder.name != "avro_c"]
        for folder in folders:
            with self.subTest(example=folder.name):
                shutil.copytree(folder, self.folder / folder.name)
                conf = next(pathlib.Path(self.folder / folder.name).glob("*.conf"))
                self.flowd("check", conf.name, "--plugin-dir", PLUGINS, cwd=conf.parent, expect=0)
                for options in ([], ["--check-plugins"], ["--set", "job.batch_rows=1"]):
                    self.flowd("run", conf.name, "--plugin-dir", PLUGINS, *options, cwd=conf.parent, expect=0)
                    got, expected = (sorted((conf.parent / name).read_text().splitlines()) for name in ("out/result.jsonl", "expected.jsonl"))
                    self.assertEqual(got, expected)

    def test_without_the_plugin_the_component_is_missed_by_name(self):
        shutil.copytree(e2e.SOURCE / "sdk/examples/serde", self.folder / "serde")
        self.assertIn("pipe", self.flowd("run", "serde/pipe.conf", expect=3).err)

    def test_an_example_is_shown_and_checked_like_any_plugin(self):
        shown = self.flowd("plugin", "show", "pipe", "--plugin-dir", PLUGINS, "--json", expect=0).json()
        self.assertEqual(shown["id"], "pipe")
        for plugin in PLUGINS.glob("*.so"):
            self.flowd("plugin", "check", plugin, expect=0)


if __name__ == "__main__":
    e2e.main()
