#!/usr/bin/env bash
# Judges the file POLICY of a change, held against the one of the commit BASE: on SNAPSHOT, a cluster's dump, or on
# CLUSTER of the site. Used by action.yml; gitlab.yml has the same lines. Leaves verdict.json, verdict.xml, verdict.md.
set -euo pipefail
asked=(--policy "${POLICY:?names the file of the policy}")
if [ -n "${BASE:-}" ]; then
    git cat-file -e "$BASE^{commit}" 2>/dev/null || git fetch --quiet --depth=1 origin "$BASE"
    # Where there was no policy yet, kube-scheduler's defaults are in force.
    if git cat-file -e "$BASE:./$POLICY" 2>/dev/null; then
        git show "$BASE:./$POLICY" >kschedweb-baseline.yaml
        asked+=(--baseline kschedweb-baseline.yaml)
    fi
fi
[ -z "${SNAPSHOT:-}" ] || asked+=(--snapshot "$SNAPSHOT")
[ -z "${CLUSTER:-}" ] || asked+=(--cluster "$CLUSTER")
[ -z "${THRESHOLDS:-}" ] || asked+=(--thresholds "$THRESHOLDS")
rm -f verdict.json verdict.xml verdict.md
status=0
kschedweb gate "${asked[@]}" --report verdict.json --report verdict.xml --report verdict.md || status=$?
if [ -n "${GITHUB_OUTPUT:-}" ]; then
    echo "status=$status" >>"$GITHUB_OUTPUT"
fi
if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
    if [ -f verdict.md ]; then
        cat verdict.md >>"$GITHUB_STEP_SUMMARY"
    else
        echo "kschedweb gate: no verdict, exit status $status. The log of this step says why." >>"$GITHUB_STEP_SUMMARY"
    fi
fi
exit "$status"
