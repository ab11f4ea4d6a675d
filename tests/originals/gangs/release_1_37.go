//go:build !k1_38

package main

import (
	"context"
	"iter"

	v1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler"
	schedapi "k8s.io/kubernetes/pkg/scheduler/apis/config"
	internalqueue "k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// What differs from release to release of kube-scheduler, here for 1.37.

// toldByCondition: what a pod is told is the status that the failure handler gets.
const toldByCondition = false

// groupKinds are the kinds of groups that a cycle changes.
var groupKinds = []runtime.Object{&schedulingv1beta1.PodGroup{}}

func groupOf(obj runtime.Object) (group, bool) {
	if each, is := obj.(*schedulingv1beta1.PodGroup); is {
		return group{false, each.Name, &each.Status.Conditions}, true
	}
	return group{}, false
}

func treeOf(info *framework.QueuedPodGroupInfo) []group { return []group{{name: info.GetName()}} }

func optionsOf(*schedapi.KubeSchedulerConfiguration) []scheduler.Option { return nil }

func podsOf(entity framework.QueuedEntityInfo) iter.Seq[*framework.QueuedPodInfo] {
	return func(yield func(*framework.QueuedPodInfo) bool) { entity.ForEachPodInfo(yield) }
}

func putBack(ctx context.Context, queue internalqueue.SchedulingQueue, info *framework.QueuedPodInfo) error {
	return queue.AddUnschedulablePodIfNotPresent(klog.FromContext(ctx), info, queue.SchedulingCycle())
}

func find(_ context.Context, queue internalqueue.SchedulingQueue, pod *v1.Pod) (*framework.QueuedPodInfo, bool) {
	return queue.GetPod(pod.Name, pod.Namespace, nil)
}
