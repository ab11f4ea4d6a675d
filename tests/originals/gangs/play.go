package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	testingclock "k8s.io/utils/clock/testing"
)

// discard takes no events.
type discard struct{}

func (discard) Eventf(runtime.Object, runtime.Object, string, string, string, string, ...interface{}) {
}
func (d discard) WithLogger(klog.Logger) events.EventRecorderLogger { return d }

// patience is a mistake's end, not part of any answer: a binding that has not ended by then hangs.
const patience = 30 * time.Second

var beginning = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// clock moves only as it is told, and by a nanosecond each time it is read: no two times are the same.
type clock struct{ *testingclock.FakeClock }

func (c clock) Now() time.Time {
	c.Step(time.Nanosecond)
	return c.FakeClock.Now()
}

// player runs one scenario.
type player struct {
	ctx     context.Context
	cluster *cluster
	sched   *scheduler.Scheduler
	clock   clock
	ended   chan types.UID // of bindings

	round  int
	most   int             // attempts in a round; 0: each entity once
	starts int             // of pods so far
	tried  map[string]bool // in this round
	tree   []group         // the group that is tried and all below it; none: a pod
	answer Answer

	lock    sync.Mutex
	current *Attempt
	refused map[string]Outcome
}

func play(scenario *Scenario) (*Answer, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	p, objects, err := newPlayer(ctx, scenario)
	if err != nil {
		return nil, err
	}
	p.most = scenario.Most
	rounds := max(scenario.Rounds, 1+len(scenario.Later))
	for p.round = 1; p.round <= rounds; p.round++ {
		p.tried = map[string]bool{}
		if p.round > 1 {
			p.wake()
			objects = nil
			if p.round-2 < len(scenario.Later) {
				if objects, err = decodeAll(scenario.Later[p.round-2]); err != nil {
					return nil, err
				}
			}
		}
		for _, obj := range objects {
			p.clock.Step(time.Millisecond)
			if err := p.cluster.add(obj); err != nil {
				return nil, err
			}
		}
		for made := 0; p.ready() && (p.most == 0 || made < p.most); made++ {
			if err := p.attempt(); err != nil {
				return nil, err
			}
		}
	}
	p.answer.Pending = p.waiting()
	return &p.answer, nil
}

func decodeAll(list ...[]json.RawMessage) ([]runtime.Object, error) {
	var all []runtime.Object
	for _, raw := range slices.Concat(list...) {
		obj, err := decode(raw)
		if err != nil {
			return nil, fmt.Errorf("%w in %s", err, raw)
		}
		all = append(all, obj)
	}
	return all, nil
}

// newPlayer makes the scheduler, and returns the objects that it has to be told of: groups before pods.
func newPlayer(ctx context.Context, scenario *Scenario) (*player, []runtime.Object, error) {
	all, err := decodeAll(scenario.Objects, scenario.Pending)
	if err != nil {
		return nil, nil, err
	}
	var others, early, pods []runtime.Object
	for _, obj := range all {
		switch obj.(type) {
		case *v1.Pod:
			pods = append(pods, obj)
		case *v1.Node, *resourceapi.ResourceClaim, *v1.PersistentVolume, *v1.PersistentVolumeClaim:
			early = append(early, obj)
		default:
			if _, is := groupOf(obj); is {
				early = append(early, obj)
			} else {
				others = append(others, obj)
			}
		}
	}
	p := &player{ctx: ctx, cluster: newCluster(others), clock: clock{testingclock.NewFakeClock(beginning)},
		ended: make(chan types.UID, 1024), answer: Answer{Name: scenario.Name, Attempts: []Attempt{}}}
	cfg, err := configuration(scenario.Config)
	if err != nil {
		return nil, nil, err
	}
	options := append(optionsOf(cfg),
		scheduler.WithProfiles(cfg.Profiles...), scheduler.WithPercentageOfNodesToScore(cfg.PercentageOfNodesToScore),
		scheduler.WithParallelism(1), scheduler.WithClock(p.clock),
		scheduler.WithPodMaxInUnschedulablePodsDuration(1000*time.Hour),
		scheduler.WithFrameworkOutOfTreeRegistry(registry(p.ended)))
	p.sched, err = scheduler.New(ctx, p.cluster.client, p.cluster.factory, nil,
		func(string) events.EventRecorderLogger { return discard{} }, options...)
	if err != nil {
		return nil, nil, err
	}
	p.sched.NextEntity = p.next
	p.listen()
	p.cluster.factory.Start(ctx.Done())
	p.cluster.factory.WaitForCacheSync(ctx.Done())
	if err := p.sched.WaitForHandlersSync(ctx); err != nil {
		return nil, nil, err
	}
	return p, append(early, pods...), nil
}

// listen notes that a pod got no node, and what the scheduler says of it before it writes that.
func (p *player) listen() {
	handle := p.sched.FailureHandler
	p.sched.FailureHandler = func(ctx context.Context, f framework.Framework, info *framework.QueuedPodInfo, status *fwk.Status, nominating *fwk.NominatingInfo, start time.Time) {
		pod := info.Pod
		out := Outcome{Pod: key(pod), Reason: v1.PodReasonSchedulerError, Message: status.Message()}
		if status.IsRejected() {
			out.Reason = v1.PodReasonUnschedulable
		}
		p.lock.Lock()
		p.refused[key(pod)] = out
		p.lock.Unlock()
		handle(ctx, f, info, status, nominating, start)
		p.ended <- pod.UID
	}
}

// ready says whether the queue has something to give: what is active, and where a round goes on, a pod that backs off
// early. What failed with an error waits for its time, and so do groups; time does not pass here.
func (p *player) ready() bool {
	queue := p.sched.SchedulingQueue
	if len(queue.PodsInActiveQ()) > 0 {
		return true
	}
	return p.most > 0 && slices.ContainsFunc(queue.PodsInBackoffQ(), func(pod *v1.Pod) bool {
		info, known := find(p.ctx, queue, pod)
		return pod.Spec.SchedulingGroup == nil && known && info.UnschedulablePlugins.Len()+info.PendingPlugins.Len() > 0
	})
}

// next gives what is to be tried: what the queue says, unless it was tried in this round; that waits for the next.
func (p *player) next(logger klog.Logger) (framework.QueuedEntityInfo, error) {
	entity, err := p.sched.SchedulingQueue.Pop(logger)
	if err != nil || entity == nil {
		return nil, err
	}
	name := "pod " + key(entity)
	p.tree = nil
	if group, is := entity.(*framework.QueuedPodGroupInfo); is {
		name = "group " + key(entity)
		p.tree = treeOf(group)
	}
	if p.most == 0 && p.tried[name] {
		p.current = nil
		return nil, p.hold(entity)
	}
	p.tried[name] = true
	p.current = &Attempt{Round: p.round, Entity: name, Pods: []Outcome{}}
	return entity, nil
}

// attempt is one cycle with its bindings; then the scheduler is told what it wrote.
func (p *player) attempt() error {
	p.clock.Step(time.Millisecond)
	p.refused = map[string]Outcome{}
	p.cluster.bound, p.cluster.evicted = map[string]string{}, nil
	p.sched.ScheduleOne(p.ctx)
	if p.current == nil {
		return nil
	}
	if err := p.settle(); err != nil {
		return err
	}
	if err := p.hear(); err != nil {
		return err
	}
	p.note()
	return nil
}

// settle waits until each pod that was assumed is bound or refused.
func (p *player) settle() error {
	open := p.sched.Cache.Dump().AssumedPods.Clone()
	late := time.After(patience)
	for {
		for {
			select {
			case uid := <-p.ended:
				open.Delete(string(uid))
				continue
			default:
			}
			break
		}
		if open.Len() == 0 {
			return nil
		}
		select {
		case uid := <-p.ended:
			open.Delete(string(uid))
		case <-late:
			return fmt.Errorf("bindings that do not end: %v", open.UnsortedList())
		}
	}
}

// hear tells what the cycle wrote: first what itself wrote, in order, then what the bindings did, by name, which run
// beside each other, and then the bound pods. A bound pod starts as it is told of: of two victims the one that started
// earlier counts for more.
func (p *player) hear() error {
	queue := p.cluster.queue
	p.cluster.queue = nil
	slices.SortStableFunc(queue, func(a, b written) int { return cmp.Compare(p.late(a), p.late(b)) })
	names := make([]string, 0, len(p.cluster.bound))
	for name := range p.cluster.bound {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, each := range queue {
		p.clock.Step(time.Millisecond)
		if err := p.cluster.tell(each); err != nil {
			return err
		}
	}
	for _, name := range names {
		p.clock.Step(time.Millisecond)
		p.starts++
		if err := p.cluster.start(split(name), beginning.Add(time.Duration(p.starts)*time.Second)); err != nil {
			return err
		}
	}
	return nil
}

// late is the name of what a binding wrote, and nothing for what the cycle itself wrote.
func (p *player) late(w written) string {
	switch o := w.obj.(type) {
	case *v1.Pod:
		if _, is := p.cluster.bound[key(o)]; is {
			return "pod " + key(o)
		}
	case *resourceapi.ResourceClaim:
		return "claim " + key(o)
	}
	return ""
}

// note keeps what the cycle came to.
func (p *player) note() {
	for name, node := range p.cluster.bound {
		p.current.Pods = append(p.current.Pods, Outcome{Pod: name, Node: node})
	}
	for name, out := range p.refused {
		if pod := p.cluster.pod(split(name)); pod != nil {
			out.Nominated = pod.Status.NominatedNodeName
			for _, each := range pod.Status.Conditions {
				if each.Type == v1.PodScheduled && toldByCondition {
					out.Reason, out.Message = each.Reason, each.Message
				}
			}
		}
		p.current.Pods = append(p.current.Pods, out)
	}
	sort.Slice(p.current.Pods, func(i, j int) bool { return p.current.Pods[i].Pod < p.current.Pods[j].Pod })
	for i, each := range p.tree {
		condition := p.cluster.condition(each.composite, split(p.current.Entity[len("group "):]).Namespace, each.name)
		switch {
		case i == 0:
			p.current.Group = condition
		case condition != nil:
			if p.current.Groups == nil {
				p.current.Groups = map[string]*Condition{}
			}
			p.current.Groups[each.name] = condition
		}
	}
	p.current.Evicted = p.cluster.evicted
	sort.Strings(p.current.Evicted)
	p.answer.Attempts = append(p.answer.Attempts, *p.current)
}

// hold puts back what was tried in this round, with the times that it has, so that it waits there for the next.
func (p *player) hold(entity framework.QueuedEntityInfo) error {
	logger, queue, now := klog.FromContext(p.ctx), p.sched.SchedulingQueue, p.clock.Now()
	defer p.clock.SetTime(now)
	for info := range podsOf(entity) {
		p.clock.SetTime(info.GetTimestamp())
		if err := putBack(p.ctx, queue, info); err != nil {
			return err
		}
	}
	if group, is := entity.(*framework.QueuedPodGroupInfo); is {
		p.clock.SetTime(group.GetTimestamp())
		return queue.AddAttemptedPodGroupIfNeeded(logger, group, queue.SchedulingCycle(), fwk.NewStatus(fwk.Unschedulable))
	}
	return nil
}

// wake begins a further round: everything that waits, for an event or for its backoff, becomes active.
func (p *player) wake() {
	p.clock.Step(time.Hour)
	pods, _ := p.sched.SchedulingQueue.PendingPods()
	waiting := map[string]*v1.Pod{}
	for _, pod := range pods {
		waiting[key(pod)] = pod
	}
	p.sched.SchedulingQueue.Activate(klog.FromContext(p.ctx), waiting)
}

// waiting are the pods that have no node.
func (p *player) waiting() []string {
	names := []string{}
	for _, pod := range p.cluster.factory.Core().V1().Pods().Informer().GetStore().List() {
		if pod := pod.(*v1.Pod); pod.Spec.NodeName == "" {
			names = append(names, key(pod))
		}
	}
	sort.Strings(names)
	return names
}
