package main

import (
	"context"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	corev1defaults "k8s.io/kubernetes/pkg/apis/core/v1"
)

// informer tells its handlers of an object in the caller's thread. The real one in it only holds what is there.
type informer struct {
	cache.SharedIndexInformer
	handlers []cache.ResourceEventHandler
}

// synced says that nothing has to be waited for.
type synced struct{}

func (synced) HasSynced() bool                       { return true }
func (s synced) HasSyncedChecker() cache.DoneChecker { return s }
func (synced) Name() string                          { return "told" }
func (synced) Done() <-chan struct{}                 { done := make(chan struct{}); close(done); return done }

func (i *informer) HasSynced() bool                        { return true }
func (i *informer) HasSyncedChecker() cache.DoneChecker    { return synced{} }
func (i *informer) Run(stop <-chan struct{})               { <-stop }
func (i *informer) RunWithContext(ctx context.Context)     { <-ctx.Done() }
func (i *informer) SetTransform(cache.TransformFunc) error { return nil }

func (i *informer) AddEventHandler(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	i.handlers = append(i.handlers, h)
	return synced{}, nil
}

func (i *informer) AddEventHandlerWithResyncPeriod(h cache.ResourceEventHandler, _ time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandler(h)
}

func (i *informer) AddEventHandlerWithOptions(h cache.ResourceEventHandler, _ cache.HandlerOptions) (cache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandler(h)
}

// tell puts obj into the store, or takes it out, and then calls the handlers.
func (i *informer) tell(obj runtime.Object, gone bool) error {
	store := i.GetIndexer()
	old, known, err := store.Get(obj)
	if err != nil {
		return err
	}
	switch {
	case gone && !known:
		return nil
	case gone:
		err = store.Delete(obj)
	default:
		err = store.Update(obj)
	}
	if err != nil {
		return err
	}
	for _, h := range i.handlers {
		switch {
		case gone:
			h.OnDelete(old)
		case known:
			h.OnUpdate(old, obj)
		default:
			h.OnAdd(obj, true)
		}
	}
	return nil
}

// written is one object as a call of the client left it.
type written struct {
	obj  runtime.Object
	gone bool
}

// cluster is the API server's side: what is stored, and what the scheduler has not been told yet.
type cluster struct {
	client  *fake.Clientset
	told    map[reflect.Type]*informer
	factory informers.SharedInformerFactory
	version int
	telling sync.Mutex // bindings tell of volumes beside each other

	lock    sync.Mutex
	queue   []written
	bound   map[string]string // node by pod, of this cycle
	evicted []string
}

// newCluster: objects of kinds that no cycle changes are there for the real informers from the start.
func newCluster(others []runtime.Object) *cluster {
	c := &cluster{client: fake.NewSimpleClientset(others...), told: map[reflect.Type]*informer{}, bound: map[string]string{}}
	c.factory = informers.NewSharedInformerFactory(c.client, 0)
	for _, kind := range append([]runtime.Object{&v1.Pod{}, &v1.Node{}, &resourceapi.ResourceClaim{},
		&v1.PersistentVolume{}, &v1.PersistentVolumeClaim{}}, groupKinds...) {
		own := &informer{}
		c.factory.InformerFor(kind, func(kubernetes.Interface, time.Duration) cache.SharedIndexInformer {
			own.SharedIndexInformer = cache.NewSharedIndexInformer(&cache.ListWatch{}, kind, 0, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
			return own
		})
		c.told[reflect.TypeOf(kind)] = own
	}
	apply := testing.ObjectReaction(c.client.Tracker())
	change := func(a testing.Action) (bool, runtime.Object, error) {
		done, obj, err := apply(a)
		if err == nil {
			c.write(obj, false)
		}
		return done, obj, err
	}
	c.client.PrependReactor("patch", "*", change)
	c.client.PrependReactor("update", "resourceclaims", change)
	c.client.PrependReactor("delete", "pods", func(a testing.Action) (bool, runtime.Object, error) {
		name := a.(testing.DeleteAction).GetName()
		obj, err := c.client.Tracker().Get(a.GetResource(), a.GetNamespace(), name)
		if err != nil {
			return true, nil, err
		}
		done, _, err := apply(a)
		if err == nil {
			c.write(obj, true)
		}
		return done, nil, err
	})
	c.client.PrependReactor("create", "pods", func(a testing.Action) (bool, runtime.Object, error) {
		binding, is := a.(testing.CreateAction).GetObject().(*v1.Binding)
		if !is {
			return false, nil, nil
		}
		return true, binding, c.bind(binding, a)
	})
	c.volumeController()
	return c
}

func (c *cluster) write(obj runtime.Object, gone bool) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.queue = append(c.queue, written{obj.DeepCopyObject(), gone})
	if pod, is := obj.(*v1.Pod); is && gone {
		c.evicted = append(c.evicted, key(pod))
	}
}

// bind stores the pod's node. It is told when the cycle has ended: bindings run beside each other.
func (c *cluster) bind(binding *v1.Binding, a testing.Action) error {
	c.lock.Lock()
	defer c.lock.Unlock()
	obj, err := c.client.Tracker().Get(a.GetResource(), binding.Namespace, binding.Name)
	if err != nil {
		return err
	}
	pod := obj.DeepCopyObject().(*v1.Pod)
	pod.Spec.NodeName = binding.Target.Name
	c.bound[key(pod)] = binding.Target.Name
	return c.client.Tracker().Update(a.GetResource(), pod, binding.Namespace)
}

// start tells of a bound pod, which has started.
func (c *cluster) start(name types.NamespacedName, now time.Time) error {
	pod := c.pod(name).DeepCopy()
	pod.Status.StartTime = &metav1.Time{Time: now}
	if err := c.client.Tracker().Update(v1.SchemeGroupVersion.WithResource("pods"), pod, name.Namespace); err != nil {
		return err
	}
	return c.tell(written{obj: pod.DeepCopy()})
}

// add stores an object, new or changed, and tells of it. A group keeps its status.
func (c *cluster) add(obj runtime.Object) error {
	to, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	if own, is := groupOf(obj); is {
		if stored := c.group(own.composite, to.GetNamespace(), to.GetName()); stored != nil {
			*own.conditions = *stored.conditions
		}
	}
	if err = c.client.Tracker().Add(obj); apierrors.IsAlreadyExists(err) {
		resource, _ := meta.UnsafeGuessKindToResource(obj.GetObjectKind().GroupVersionKind())
		err = c.client.Tracker().Update(resource, obj, to.GetNamespace())
	}
	if err != nil {
		return err
	}
	return c.tell(written{obj: obj.DeepCopyObject()})
}

func (c *cluster) tell(w written) error {
	own, is := c.told[reflect.TypeOf(w.obj)]
	if !is {
		return fmt.Errorf("a %T cannot come later", w.obj)
	}
	to, err := meta.Accessor(w.obj)
	if err != nil {
		return err
	}
	c.telling.Lock()
	defer c.telling.Unlock()
	c.version++
	to.SetResourceVersion(strconv.Itoa(c.version))
	return own.tell(w.obj, w.gone)
}

// pod is the pod as it is stored, or nil.
func (c *cluster) pod(name types.NamespacedName) *v1.Pod {
	obj, err := c.client.Tracker().Get(v1.SchemeGroupVersion.WithResource("pods"), name.Namespace, name.Name)
	if err != nil {
		return nil
	}
	return obj.(*v1.Pod)
}

// group is what the harness needs of a PodGroup, or of a group of them.
type group struct {
	composite  bool
	name       string
	conditions *[]metav1.Condition
}

// kind is the name of a group's kind.
func kind(composite bool) string {
	if composite {
		return "CompositePodGroup"
	}
	return "PodGroup"
}

// group is the group as it is stored, or nil.
func (c *cluster) group(composite bool, namespace, name string) *group {
	resource := schedulingv1beta1.SchemeGroupVersion.WithResource(strings.ToLower(kind(composite)) + "s")
	obj, err := c.client.Tracker().Get(resource, namespace, name)
	if err != nil {
		return nil
	}
	stored, _ := groupOf(obj)
	return &stored
}

// condition is the one of the group's status that says whether it was scheduled, or nil.
func (c *cluster) condition(composite bool, namespace, name string) *Condition {
	stored := c.group(composite, namespace, name)
	if stored == nil {
		return nil
	}
	for _, each := range *stored.conditions {
		if each.Type == kind(composite)+"InitiallyScheduled" {
			return &Condition{each.Type, string(each.Status), each.Reason, each.Message}
		}
	}
	return nil
}

func key(obj klog.KMetadata) string { return obj.GetNamespace() + "/" + obj.GetName() }

// clusterWide are kinds without a namespace.
var clusterWide = map[string]bool{
	"Node": true, "Namespace": true, "PriorityClass": true, "DeviceClass": true, "ResourceSlice": true,
	"PersistentVolume": true, "StorageClass": true, "CSINode": true, "CSIDriver": true, "VolumeAttachment": true,
}

// decode reads an object as the API server would store it, with a namespace and a UID of its own.
func decode(raw []byte) (runtime.Object, error) {
	obj, _, err := clientscheme.Codecs.UniversalDeserializer().Decode(raw, nil, nil)
	if err != nil {
		return nil, err
	}
	to, err := meta.Accessor(obj)
	if err != nil {
		return nil, err
	}
	if pod, is := obj.(*v1.Pod); is {
		corev1defaults.SetObjectDefaults_Pod(pod)
	}
	if kind := obj.GetObjectKind().GroupVersionKind().Kind; to.GetNamespace() == "" && !clusterWide[kind] {
		to.SetNamespace("default")
	}
	if to.GetUID() == "" {
		to.SetUID(types.UID(key(to)))
	}
	return obj, nil
}
