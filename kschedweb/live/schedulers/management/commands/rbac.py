"""manage.py rbac: print the manifests that give a live scheduler exactly the rights it needs."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from kschedweb.live.schedulers.election.locks import LEASES, PARTS
from kschedweb.live.schedulers.rbac import MODES, Needs, config_map_text, manifest_text


class Command(BaseCommand):
    help = "Print the least-privilege manifests for a mode of live scheduling, to be given to kubectl apply -f -."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--mode", choices=MODES, help="what the live scheduler does")
        parser.add_argument("--config-map", default="", metavar="NAMESPACE/NAME", help="a policy is read from it")
        parser.add_argument("--scheduler-name", default="", help="its name, as pods say it: names the lock")
        parser.add_argument("--lock", choices=PARTS, default=LEASES, help="what the leader is elected by")
        parser.add_argument("--lease", default="", help="the lock's name, where it has another one")
        parser.add_argument("--lease-namespace", default="kube-system", help="default: kube-system")
        parser.add_argument("--namespace", default="kschedweb", help="of the service account (default: kschedweb)")
        parser.add_argument("--service-account", default="kschedweb", help="default: kschedweb")
        parser.add_argument("--preemption", action="store_true", help="may make room for pods of higher priority")
        parser.add_argument("--keep-budgets", action="store_true", help="makes room by eviction: budgets always hold")
        parser.add_argument("--binds", action="store_true", help="mode extender: binds pods for kube-scheduler")
        parser.add_argument("--no-volumes", action="store_true", help="no pod has claims that wait for their first pod")
        parser.add_argument("--no-devices", action="store_true", help="no pod claims devices")
        parser.add_argument("--no-groups", action="store_true", help="no pods are scheduled as groups")

    def handle(self, *args: Any, **options: Any) -> None:
        account, namespace = options["service_account"], options["namespace"]
        place, slash, config_map = options["config_map"].partition("/")
        if bool(options["mode"]) == bool(slash) or (slash and not (place and config_map)):
            raise CommandError("give --mode, or --config-map as NAMESPACE/NAME")
        if slash:
            self.stdout.write(config_map_text(config_map, place, account=account, namespace=namespace), ending="")
            return
        needs = Needs(
            options["mode"],
            lock=options["lock"],
            lease=options["lease"] or f"kschedweb-{options['scheduler_name'] or 'scheduler'}",
            lease_namespace=options["lease_namespace"],
            preemption=options["preemption"] or options["keep_budgets"],
            keep_budgets=options["keep_budgets"],
            volumes=not options["no_volumes"],
            devices=not options["no_devices"],
            groups=not options["no_groups"],
            binds=options["binds"],
        )
        self.stdout.write(manifest_text(needs, account=account, namespace=namespace), ending="")
