// The contexts of a kubeconfig, read in the page.
import assert from "node:assert/strict";
import { test } from "node:test";

import { quoteWord, readKubeconfig, suggestName } from "../src/kubeconfig";

const TEXT = `\
apiVersion: v1
kind: Config
current-context: "prod's"
preferences: {}
clusters:
- name: far
  cluster:
    certificate-authority-data: LS0tLS1CRUdJTg==
    server: https://kube.example.com:6443 # the balancer
- cluster: {server: 'https://127.0.0.1:40123'}
  name: kind
contexts:
- context:
    cluster: far
    namespace: web
    user: runs
  name: prod's
- context: {cluster: kind, user: holds}
  name: kind-kind
- name: nowhere
  context:
users:
- name: runs
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1
      args:
      - eks
      - get-token
      command: aws
- name: holds
  user:
    exec:
    token: hidden-word
`;

test("contexts come with server, authority and the program that makes credentials", () => {
  const kubeconfig = readKubeconfig(TEXT);
  assert.deepEqual(kubeconfig, {
    current: "prod's",
    contexts: [
      { name: "prod's", server: "https://kube.example.com:6443", ca: "-----BEGIN", program: "aws" },
      { name: "kind-kind", server: "https://127.0.0.1:40123", ca: "", program: "" },
      { name: "nowhere", server: "", ca: "", program: "" },
    ],
  });
  assert.ok(!JSON.stringify(kubeconfig).includes("hidden-word"));
});

test("JSON is read as well, and a provider is a program", () => {
  const user = { "auth-provider": { name: "oidc", config: { "client-id": "x" } } };
  const text = JSON.stringify({
    clusters: [{ name: "c", cluster: { server: "https://kube" } }],
    contexts: [{ name: 'a "b"', context: { cluster: "c", user: "u" } }],
    users: [{ name: "u", user }],
  });
  assert.deepEqual(readKubeconfig(text), {
    current: "",
    contexts: [{ name: 'a "b"', server: "https://kube", ca: "", program: "oidc" }],
  });
});

test("what is no kubeconfig has no contexts", () => {
  for (const text of [
    "",
    "hello",
    "- a\n- b",
    "contexts: []",
    "contexts: x",
    "kind: Pod\nmetadata: {name: a}",
    "{",
    ": :",
  ])
    assert.equal(readKubeconfig(text), null, text);
});

test("a current context that is not there is none", () => {
  const text = "current-context: gone\ncontexts: [{name: a, context: {}}]";
  assert.equal(readKubeconfig(text)?.current, "");
});

test("names are what the site accepts", () => {
  assert.equal(suggestName("kind-kind"), "kind-kind");
  assert.equal(suggestName("arn:aws:eks:eu-west-1:123456789012:cluster/Prod_EU"), "prod-eu");
  assert.equal(suggestName("admin@prod.example.com"), "prod-example-com");
  assert.equal(suggestName("gke_project_zone_name"), "gke-project-zone-name");
  assert.equal(suggestName("-*-"), "");
  assert.equal(suggestName(`${"a".repeat(62)}-b`).length, 62);
});

test("a context is one word of a shell", () => {
  assert.equal(quoteWord("arn:aws:eks:eu-west-1:1:cluster/prod"), "arn:aws:eks:eu-west-1:1:cluster/prod");
  assert.equal(quoteWord("a b; rm -rf ~"), "'a b; rm -rf ~'");
  assert.equal(quoteWord("it's"), `'it'"'"'s'`);
  assert.equal(quoteWord(""), "''");
});
