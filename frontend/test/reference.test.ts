// The page of the REST API: what a search finds, and what is sent.
import assert from "node:assert/strict";
import { test } from "node:test";

import { callAddress, hasAllWords, indentJson } from "../src/reference-calls";

test("an operation is found by any words of it, in any order and case", () => {
  const text = "GET /api/v1/clusters/{name}/pods/ The pods of the cluster";
  for (const search of ["", "pods", "POD get", "/clusters/", "cluster  pods"])
    assert.ok(hasAllWords(text, search), search);
  assert.ok(!hasAllWords(text, "pods delete"));
});

test("places are filled in, empty questions are left out, and nothing breaks out of its place", () => {
  assert.equal(
    callAddress(
      "/api/v1/clusters/{name}/nodes/",
      [["name", "demo"]],
      [
        ["zone", "a b"],
        ["cursor", ""],
      ],
    ),
    "/api/v1/clusters/demo/nodes/?zone=a+b",
  );
  assert.equal(
    callAddress("/api/v1/jobs/{id}/", [["id", "../users?x=$&"]], []),
    "/api/v1/jobs/..%2Fusers%3Fx%3D%24%26/",
  );
});

test("JSON is laid out, and what is not JSON stays", () => {
  assert.equal(indentJson('{"a":[1]}'), '{\n  "a": [\n    1\n  ]\n}');
  assert.equal(indentJson("a,b"), "a,b");
});
