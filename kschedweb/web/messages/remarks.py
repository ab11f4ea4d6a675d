"""Messages of the engine and of jobs: notes, reasons of moves, policies that undo one another."""

from __future__ import annotations

from django.utils.translation import gettext_noop

REMARKS = (
    # Notes of a dry run, and what becomes of its pods.
    gettext_noop("Real use of this cluster is not known: gains go by requests alone."),
    gettext_noop("The use of some moved pods is not known: they count as if they used nothing where they go."),
    gettext_noop(
        "The query of Prometheus is not asked: the share of each node's CPU that is used stands for its answer."
    ),
    gettext_noop("No controller makes another pod in its place."),
    gettext_noop("The pod has ended, and takes no room."),
    gettext_noop("the starting policy, which is not saved"),
    gettext_noop("a policy that is not saved"),
    # Policies that undo one another; the plugin is named twice.
    gettext_noop(
        "%(plugin)s evicts %(count)s pods again and again, up to %(times)s times: %(scorer)s puts them back where "
        "%(same)s evicts them. Change one of the two, or this never settles."
    ),
    gettext_noop(
        "%(plugin)s evicts the pod %(pod)s again and again, up to %(times)s times: %(scorer)s puts it back where "
        "%(same)s evicts it. Change one of the two, or this never settles."
    ),
    gettext_noop(
        "%(plugin)s evicts %(count)s pods again and again, up to %(times)s times: no other node takes them than those "
        "from which %(same)s evicts them. Let other nodes take them, or let the descheduler leave them, or this never "
        "settles."
    ),
    gettext_noop(
        "%(plugin)s evicts the pod %(pod)s again and again, up to %(times)s times: no other node takes it than those "
        "from which %(same)s evicts it. Let other nodes take them, or let the descheduler leave them, or this never "
        "settles."
    ),
    # Why a plan moves a pod, why a pod stays, and why the plan ends.
    gettext_noop(
        "brings %(first)s from %(was)s %% to %(is)s %% and %(second)s from %(before)s %% to %(after)s %% of "
        "%(resource)s"
    ),
    gettext_noop("leaves %(free)s free on %(node)s, alone"),
    gettext_noop("leaves %(free)s free on %(node)s, with %(count)s pods"),
    gettext_noop("empties node %(node)s: pod %(place)s of %(count)s"),
    gettext_noop("belongs to a DaemonSet"),
    gettext_noop("is a static pod"),
    gettext_noop("has no controller that would put another in its place"),
    gettext_noop("asks by an annotation not to be evicted"),
    gettext_noop(
        "is protected by the rules of the descheduler's DefaultEvictor: local storage, or a critical priority"
    ),
    gettext_noop("belongs to a pod group, which is placed as one"),
    gettext_noop("has resource claims"),
    gettext_noop("is being deleted"),
    gettext_noop("is placed by a scheduler that the policy does not have"),
    gettext_noop("The objective is reached."),
    gettext_noop("No more than %(count)s moves were asked for."),
    gettext_noop("The time for the search was up: this is the best plan that was found until then."),
    gettext_noop("Disruption budgets allow no eviction of pods that would help: %(budgets)s."),
    gettext_noop("%(who)s that would help would find no node: %(message)s"),
    gettext_noop("%(who)s that would help would come back to the node that they left."),
    gettext_noop("%(who)s that could go would be put where that does not help."),
    gettext_noop("No move of a pod that may go brings the objective nearer."),
    gettext_noop("No more nodes can go: the others must hold what the pods request."),
    gettext_noop("More moves would gain less than they cost, %(price)s each."),
    gettext_noop("To reach the objective would cost more than it gains, at %(price)s a move."),
    # Policies of experiments.
    gettext_noop("kube-scheduler's defaults"),
    gettext_noop("Oracle (best possible)"),
    gettext_noop("Made-up day of %(count)s machines"),
    gettext_noop("%(plugin)s with the constant %(constant)s"),
    gettext_noop("%(plugin)s with %(other)s beside the defaults"),
    gettext_noop("%(plugin)s, weight %(weight)s, beside the defaults"),
    gettext_noop("%(plugin)s beside the defaults"),
    # Why a message reached no webhook.
    gettext_noop("It cannot be reached."),
    gettext_noop("Its certificate cannot be verified."),
    gettext_noop("It does not answer with TLS."),
    gettext_noop("No answer within %(seconds)s s."),
    gettext_noop("The connection broke off."),
    # The effect of a changed policy.
    gettext_noop("%(count)s of %(total)s pending pods would change node"),
    gettext_noop("%(count)s of %(total)s pods of %(name)s would change node"),
    gettext_noop("%(count)s of %(total)s pods would change node"),
    # Why a pod is held for people.
    gettext_noop("it is in namespace %(name)s and its labels match (%(names)s)"),
    gettext_noop("it is in namespace %(name)s and its labels match"),
    gettext_noop("it is in namespace %(name)s"),
    gettext_noop("its labels match (%(names)s)"),
    gettext_noop("its labels match"),
    gettext_noop("its priority is %(priority)s (%(least)s or more and %(most)s or less)"),
    gettext_noop("its priority is %(priority)s (%(least)s or more)"),
    gettext_noop("its priority is %(priority)s (%(most)s or less)"),
    gettext_noop("the labels of node %(node)s match (%(names)s)"),
    gettext_noop("the labels of node %(node)s match"),
    gettext_noop("its node is only %(count)s point ahead, fewer than %(most)s"),
    gettext_noop("its node is only %(count)s points ahead, fewer than %(most)s"),
    gettext_noop("its node is %(node)s"),
    gettext_noop("%(share)s %% of the %(resource)s of %(node)s is in use over %(span)s (limit %(total)s %%)"),
    # Why a moved pod has no plugin to name.
    gettext_noop("No plugin prefers the new node: totals are equal, and the order of the nodes decides."),
    gettext_noop("No plugin prefers the new node: the order of the nodes decides."),
    # The policy that comes with the site.
    gettext_noop("Used everywhere unless you choose another."),
    # Those of the sandbox and of ready scenarios, by the first line of their files.
    gettext_noop(
        "kube-scheduler's own plugins, and real use: busy nodes get fewer pods. "
        "The sandbox tries it in shadow and as an extender."
    ),
    gettext_noop(
        "Places the pods of the sandbox that name it, and asks people about payments and about close decisions."
    ),
    gettext_noop("The policy of a ready scenario."),
    gettext_noop("kube-scheduler's defaults"),
    # A revision, wherever it is named.
    gettext_noop("%(policy)s, revision %(item)s"),
)  # fmt: skip
