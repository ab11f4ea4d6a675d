package main

import (
	"bytes"
	"fmt"
	"time"

	"k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	corev1defaults "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/algorithm"
	"k8s.io/kubernetes/pkg/scheduler/algorithm/priorities"
	_ "k8s.io/kubernetes/pkg/scheduler/algorithmprovider"
	schedulerapi "k8s.io/kubernetes/pkg/scheduler/api"
	latestschedulerapi "k8s.io/kubernetes/pkg/scheduler/api/latest"
	schedulercache "k8s.io/kubernetes/pkg/scheduler/cache"
	"k8s.io/kubernetes/pkg/scheduler/core"
	"k8s.io/kubernetes/pkg/scheduler/factory"
)

// cluster is a scheduler that knows all objects of a scenario.
type cluster struct {
	config       *factory.Config
	configurator factory.Configurator
	informers    informers.SharedInformerFactory
	pending      []*v1.Pod
	always       bool
	stop         func()
}

// start makes the scheduler as its own command does, and waits until it knows the objects.
func start(scenario *Scenario) (*cluster, error) {
	found, policy, stops := &cluster{}, scenario.Policy, []func(){}
	found.stop = func() {
		for _, each := range stops {
			each()
		}
	}
	if scenario.Extender != nil {
		server := scenario.Extender.serve()
		stops = append(stops, server.Close)
		policy = bytes.ReplaceAll(policy, []byte(address), []byte(server.URL))
	}
	objects, err := decoded(scenario.Objects, "objects")
	if err != nil {
		return nil, err
	}
	pending, err := decoded(scenario.Pending, "pending")
	if err != nil {
		return nil, err
	}
	for _, each := range pending {
		found.pending = append(found.pending, each.(*v1.Pod))
	}
	stop := make(chan struct{})
	stops = append(stops, func() { close(stop) })
	client := fake.NewSimpleClientset(objects...)
	f := informers.NewSharedInformerFactory(client, 0)
	found.informers = f
	found.configurator = factory.NewConfigFactory(&factory.ConfigFactoryArgs{
		SchedulerName: v1.DefaultSchedulerName, Client: client,
		NodeInformer: f.Core().V1().Nodes(), PodInformer: f.Core().V1().Pods(),
		PvInformer: f.Core().V1().PersistentVolumes(), PvcInformer: f.Core().V1().PersistentVolumeClaims(),
		ReplicationControllerInformer: f.Core().V1().ReplicationControllers(),
		ReplicaSetInformer:            f.Apps().V1().ReplicaSets(), StatefulSetInformer: f.Apps().V1().StatefulSets(),
		ServiceInformer: f.Core().V1().Services(), PdbInformer: f.Policy().V1beta1().PodDisruptionBudgets(),
		StorageClassInformer:           f.Storage().V1().StorageClasses(),
		HardPodAffinitySymmetricWeight: v1.DefaultHardPodAffinitySymmetricWeight,
		PercentageOfNodesToScore:       100, BindTimeoutSeconds: 10, StopCh: stop,
	})
	if found.config, err = found.configured(policy); err != nil {
		found.stop()
		return nil, err
	}
	f.Start(stop)
	f.WaitForCacheSync(stop)
	if err := found.wait(objects); err != nil {
		found.stop()
		return nil, err
	}
	for _, pod := range found.pending {
		if pod.Status.NominatedNodeName != "" {
			if err := found.config.SchedulingQueue.Add(pod); err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

func (c *cluster) configured(policy []byte) (*factory.Config, error) {
	if len(policy) == 0 {
		return c.configurator.CreateFromProvider(factory.DefaultProvider)
	}
	read := schedulerapi.Policy{}
	if err := runtime.DecodeInto(latestschedulerapi.Codec, policy, &read); err != nil {
		return nil, err
	}
	c.always = read.AlwaysCheckAllPredicates
	return c.configurator.CreateFromConfig(read)
}

// listening is the same scheduler with heard as its only extender.
func (c *cluster) listening(heard *listener) algorithm.ScheduleAlgorithm {
	meta, err := c.configurator.GetPredicateMetadataProducer()
	if err != nil {
		panic(err)
	}
	f := c.informers
	return core.NewGenericScheduler(
		c.config.SchedulerCache, nil, c.config.SchedulingQueue, c.config.Algorithm.Predicates(), meta,
		c.config.Algorithm.Prioritizers(),
		priorities.NewPriorityMetadataFactory(f.Core().V1().Services().Lister(),
			f.Core().V1().ReplicationControllers().Lister(), f.Apps().V1().ReplicaSets().Lister(),
			f.Apps().V1().StatefulSets().Lister()),
		[]algorithm.SchedulerExtender{heard}, c.config.VolumeBinder, f.Core().V1().PersistentVolumeClaims().Lister(),
		f.Policy().V1beta1().PodDisruptionBudgets().Lister(), c.always, false, 100)
}

// wait returns once the event handlers have filled the scheduler's cache.
func (c *cluster) wait(objects []runtime.Object) error {
	nodes, pods := 0, 0
	for _, each := range objects {
		switch each.(type) {
		case *v1.Node:
			nodes++
		case *v1.Pod:
			pods++
		}
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		infos, known, there := map[string]*schedulercache.NodeInfo{}, 0, 0
		if err := c.config.SchedulerCache.UpdateNodeNameToInfoMap(infos); err != nil {
			return err
		}
		for _, info := range infos {
			there += len(info.Pods())
			if info.Node() != nil {
				known++
			}
		}
		if known == nodes && there == pods {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("cache did not fill: %d of %d nodes, %d of %d pods", known, nodes, there, pods)
		}
	}
}

func decoded[Raw ~[]byte](listed []Raw, where string) (found []runtime.Object, err error) {
	for place, raw := range listed {
		object, _, err := clientscheme.Codecs.UniversalDeserializer().Decode(raw, nil, nil)
		if err != nil {
			return nil, fmt.Errorf("%s[%d]: %v", where, place, err)
		}
		if pod, is := object.(*v1.Pod); is {
			corev1defaults.SetObjectDefaults_Pod(pod)
			if pod.Namespace == "" {
				pod.Namespace = v1.NamespaceDefault
			}
			if pod.UID == "" {
				pod.UID = types.UID(key(pod))
			}
		}
		found = append(found, object)
	}
	return found, nil
}
