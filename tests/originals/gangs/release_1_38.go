//go:build k1_38

package main

import (
	"context"
	"iter"

	v1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	schedapi "k8s.io/kubernetes/pkg/scheduler/apis/config"
	internalqueue "k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// What differs from release to release of kube-scheduler, here for 1.38.

// toldByCondition: the failure handler makes up what a pod is told, so that only its condition has it.
const toldByCondition = true

// groupKinds are the kinds of groups that a cycle changes.
var groupKinds = []runtime.Object{&schedulingv1beta1.PodGroup{}, &schedulingv1beta1.CompositePodGroup{}}

func groupOf(obj runtime.Object) (group, bool) {
	switch each := obj.(type) {
	case *schedulingv1beta1.PodGroup:
		return group{false, each.Name, &each.Status.Conditions}, true
	case *schedulingv1beta1.CompositePodGroup:
		return group{true, each.Name, &each.Status.Conditions}, true
	}
	return group{}, false
}

func treeOf(info *framework.QueuedPodGroupInfo) []group { return walk(info.PodGroupInfo) }

func walk(info *framework.PodGroupInfo) []group {
	all := []group{{composite: info.GetType() == fwk.CompositePodGroupKeyType, name: info.GetName()}}
	for _, child := range info.Children() {
		all = append(all, walk(child)...)
	}
	return all
}

func optionsOf(cfg *schedapi.KubeSchedulerConfiguration) []scheduler.Option {
	return []scheduler.Option{scheduler.WithPercentageOfPlacementsToScore(cfg.PercentageOfPlacementsToScore)}
}

func podsOf(entity framework.QueuedEntityInfo) iter.Seq[*framework.QueuedPodInfo] {
	return entity.ForEachPodInfo()
}

func putBack(ctx context.Context, queue internalqueue.SchedulingQueue, info *framework.QueuedPodInfo) error {
	return queue.AddUnschedulablePodIfNotPresent(ctx, info, queue.SchedulingCycle())
}

func find(ctx context.Context, queue internalqueue.SchedulingQueue, pod *v1.Pod) (*framework.QueuedPodInfo, bool) {
	return queue.GetPod(ctx, pod.Name, pod.Namespace, nil)
}
