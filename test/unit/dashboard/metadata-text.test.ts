import assert from "node:assert/strict";
import { test } from "node:test";
import { filterText, metadataFilter, metadataIn } from "../../../dashboard/src/pages/sandboxes/metadata-text.ts";

test("metadata are one name=value in each line", () => {
  assert.deepEqual(metadataIn("task=42\n\n user = a=b "), { task: "42", user: "a=b" });
  assert.deepEqual(metadataIn(""), {});
  assert.throws(() => metadataIn("task"), /"task" is not of the form name=value/);
  assert.throws(() => metadataIn("=42"), /"=42" is not of the form/);
});

test("a filter is shown as it was typed, and a filter of the API has any characters", () => {
  assert.equal(metadataFilter("task=42, user=a&b=c"), "task=42&user=a%26b%3Dc");
  assert.equal(filterText(metadataFilter("task=42, user=a&b=c")), "task=42, user=a&b=c");
  assert.equal(metadataFilter(" "), undefined);
  assert.equal(filterText(undefined), "");
  assert.throws(() => metadataFilter("task"), /name=value/);
});
