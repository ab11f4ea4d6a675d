"""Print what an image carries, as SPDX 2.3: ``python deploy/sbom.py frontend/package-lock.json > sbom.spdx.json``.

Python packages are those installed beside the interpreter that runs this, with the licence that they state; packages of
the pages are those of the lock that are no mere tools of the build. The time is ``SOURCE_DATE_EPOCH``, or now.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import sys
import time
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any
from urllib.parse import quote

Json = dict[str, Any]
ALGORITHMS = {"sha256": "SHA256", "sha384": "SHA384", "sha512": "SHA512"}
# What setup tools wrote before there were expressions: an identifier, or nothing that SPDX knows.
EXPRESSION = re.compile(r"[A-Za-z0-9.+-]+( (AND|OR|WITH) [A-Za-z0-9.+-]+)*")


def package(kind: str, name: str, version: str, licence: str, sums: list[Json]) -> Json:
    """One package of ``kind`` (``pypi``, ``npm``)."""
    found: Json = {
        "SPDXID": "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", f"{kind}-{name}-{version}"),
        "name": name,
        "versionInfo": version,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": licence if EXPRESSION.fullmatch(licence) else "NOASSERTION",
        "copyrightText": "NOASSERTION",
        "externalRefs": [
            {
                "referenceCategory": "PACKAGE-MANAGER",
                "referenceType": "purl",
                "referenceLocator": f"pkg:{kind}/{quote(name)}@{quote(version)}",
            }
        ],
    }
    return found | ({"checksums": sums} if sums else {})


def python_package(installed: Distribution) -> Json:
    name = re.sub(r"[-_.]+", "-", installed.metadata["Name"]).lower()
    return package("pypi", name, installed.version, installed.metadata.get("License-Expression") or "", [])


def npm_packages(lock: Json) -> list[Json]:
    found = []
    for path, entry in lock["packages"].items():
        if not path or entry.get("dev"):
            continue
        algorithm, _, digest = entry["integrity"].partition("-")
        sums = [{"algorithm": ALGORITHMS[algorithm], "checksumValue": base64.b64decode(digest).hex()}]
        name = path.rpartition("node_modules/")[2]
        found.append(package("npm", name, entry["version"], entry.get("license", ""), sums))
    return found


def document(lock: Json, moment: float) -> Json:
    found = {item["SPDXID"]: item for item in [*map(python_package, distributions()), *npm_packages(lock)]}
    packages = [found[key] for key in sorted(found)]
    digest = hashlib.sha256(json.dumps(packages).encode()).hexdigest()
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": "kschedweb",
        "documentNamespace": f"urn:kschedweb:sbom:{digest}",
        "creationInfo": {
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment)),
            "creators": ["Tool: kschedweb-deploy-sbom"],
        },
        "packages": packages,
        "relationships": [
            {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": each}
            for each in sorted(found)
        ],
    }


if __name__ == "__main__":
    lock = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    json.dump(document(lock, float(os.environ.get("SOURCE_DATE_EPOCH") or time.time())), sys.stdout, indent=1)
