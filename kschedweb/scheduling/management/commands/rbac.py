"""manage.py rbac: the manifests that give a live scheduler the rights it needs, and no other."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from kschedweb.scheduling.rbac import MODES, Needs, manifest_text


class Command(BaseCommand):
    help = "Print the least-privilege manifests for a mode of live scheduling, to be given to kubectl apply -f -."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--mode", choices=MODES, required=True, help="what the live scheduler does")
        parser.add_argument("--scheduler-name", default="", help="its name, as pods say it: names the lease")
        parser.add_argument("--lease", default="", help="the lease's name, where it has another one")
        parser.add_argument("--lease-namespace", default="kube-system", help="default: kube-system")
        parser.add_argument("--namespace", default="kschedweb", help="of the service account (default: kschedweb)")
        parser.add_argument("--service-account", default="kschedweb", help="default: kschedweb")
        parser.add_argument("--preemption", action="store_true", help="may make room for pods of higher priority")
        parser.add_argument("--keep-budgets", action="store_true", help="makes room by eviction: budgets always hold")
        parser.add_argument("--binds", action="store_true", help="mode extender: binds pods for kube-scheduler")
        parser.add_argument("--no-volumes", action="store_true", help="no pod has claims that wait for their first pod")
        parser.add_argument("--no-devices", action="store_true", help="no pod claims devices")

    def handle(self, *args: Any, **options: Any) -> None:
        needs = Needs(
            options["mode"],
            lease=options["lease"] or f"kschedweb-{options['scheduler_name'] or 'scheduler'}",
            lease_namespace=options["lease_namespace"],
            preemption=options["preemption"] or options["keep_budgets"],
            keep_budgets=options["keep_budgets"],
            volumes=not options["no_volumes"],
            devices=not options["no_devices"],
            binds=options["binds"],
        )
        account, namespace = options["service_account"], options["namespace"]
        self.stdout.write(manifest_text(needs, account=account, namespace=namespace), ending="")
