package main

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
	_ "unsafe" // for go:linkname

	"github.com/robfig/cron/v3"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	scalefake "k8s.io/client-go/scale/fake"
	core "k8s.io/client-go/testing"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/autoscaling"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	"k8s.io/kubernetes/pkg/controller/podautoscaler"
	"k8s.io/kubernetes/pkg/controller/podautoscaler/metrics"
	_ "k8s.io/kubernetes/pkg/controller/replicaset"
)

// Flags of kube-controller-manager, with their defaults.
const (
	syncPeriod      = 15 * time.Second
	downscale       = 5 * time.Minute
	tolerance       = 0.1
	initialization  = 5 * time.Minute
	initialReadines = 30 * time.Second
)

//go:linkname getPodsToDelete k8s.io/kubernetes/pkg/controller/replicaset.getPodsToDelete
func getPodsToDelete(filteredPods, relatedPods []*corev1.Pod, diff int) []*corev1.Pod

func play(t *testing.T, scenario *Scenario, answer *Answer) error {
	if scenario.Order != nil {
		return order(scenario.Order, answer)
	}
	if scenario.Cron != nil {
		return due(scenario.Cron, answer)
	}
	hpa, err := stored(scenario.HPA)
	if err != nil {
		return err
	}
	answer.Metrics = len(hpa.Spec.Metrics)
	return watch(t, scenario, hpa, answer)
}

// stored is the autoscaler as the API server keeps it, and gives it to the controller.
func stored(raw []byte) (*autoscalingv2.HorizontalPodAutoscaler, error) {
	object, _, err := legacyscheme.Codecs.UniversalDecoder(autoscaling.SchemeGroupVersion).Decode(raw, nil, nil)
	if err != nil {
		return nil, err
	}
	hpa := &autoscalingv2.HorizontalPodAutoscaler{}
	if err := legacyscheme.Scheme.Convert(object, hpa, nil); err != nil {
		return nil, err
	}
	legacyscheme.Scheme.Default(hpa)
	return hpa, nil
}

// watch lets the controller run, and shows it a step before each of its looks.
func watch(t *testing.T, scenario *Scenario, hpa *autoscalingv2.HorizontalPodAutoscaler, answer *Answer) error {
	ctx, cancel := context.WithCancel(t.Context())
	defer func() {
		cancel()
		synctest.Wait()
	}()
	start := time.Now()
	client := fake.NewSimpleClientset(hpa)
	factory := informers.NewSharedInformerFactory(client, 0)
	pods := factory.Core().V1().Pods()
	seen := &measured{start: start}
	scales := &scaled{spec: scenario.Replicas, namespace: hpa.Namespace, name: hpa.Spec.ScaleTargetRef.Name}
	controller := podautoscaler.NewHorizontalController(
		ctx, client.CoreV1(), scales.client(), client.AutoscalingV2(), mapper(), seen,
		factory.Autoscaling().V2().HorizontalPodAutoscalers(), pods,
		syncPeriod, downscale, tolerance, initialization, initialReadines,
	)
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	synctest.Wait()
	for number, step := range scenario.Steps {
		listed, err := read(step.Pods)
		if err != nil {
			return err
		}
		if err := replace(pods.Informer().GetIndexer(), listed); err != nil {
			return err
		}
		seen.by = step.Metrics
		if step.Replicas != nil {
			scales.spec = *step.Replicas
		}
		scales.status = int32(len(listed))
		if number == 0 {
			go controller.Run(ctx, 1) // its first look is at once
		}
		synctest.Wait()
		if number == 0 {
			time.Sleep(time.Millisecond) // steps change between looks
		} else {
			time.Sleep(syncPeriod)
		}
		synctest.Wait()
		now, err := client.AutoscalingV2().HorizontalPodAutoscalers(hpa.Namespace).Get(ctx, hpa.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		answer.Looks = append(answer.Looks, look(now, scales.spec))
	}
	return nil
}

func look(hpa *autoscalingv2.HorizontalPodAutoscaler, replicas int32) Look {
	found := Look{Replicas: replicas, Conditions: map[string]string{}}
	found.Utilization = map[string]int32{}
	for _, one := range hpa.Status.Conditions {
		found.Conditions[string(one.Type)] = fmt.Sprintf("%s %s: %s", one.Status, one.Reason, one.Message)
	}
	for _, one := range hpa.Status.CurrentMetrics {
		if one.Resource != nil && one.Resource.Current.AverageUtilization != nil {
			found.Utilization[string(one.Resource.Name)] = *one.Resource.Current.AverageUtilization
		}
	}
	return found
}

func order(asked *Order, answer *Answer) error {
	pods, err := read(asked.Pods)
	if err != nil {
		return err
	}
	related, err := read(asked.Related)
	if err != nil {
		return err
	}
	time.Sleep(time.Duration(asked.Now * float64(time.Second)))
	for _, pod := range getPodsToDelete(pods, related, asked.Delete) {
		answer.Order = append(answer.Order, pod.Name)
	}
	return nil
}

// due asks what CronJobs ask; after five years without a time it ends.
func due(asked *Cron, answer *Answer) error {
	schedule, err := cron.ParseStandard(asked.Expression)
	if err != nil {
		return err
	}
	begin := time.Date(2024, time.January, 1, 0, 0, 0, 0, time.UTC)
	at := begin.Add(time.Duration(asked.From) * time.Second)
	for range asked.Count {
		if at = schedule.Next(at); at.IsZero() {
			break
		}
		answer.Due = append(answer.Due, int64(at.Sub(begin)/time.Second))
	}
	return nil
}

func read(raws []json.RawMessage) ([]*corev1.Pod, error) {
	pods := make([]*corev1.Pod, 0, len(raws))
	for _, raw := range raws {
		pod := &corev1.Pod{}
		if err := json.Unmarshal(raw, pod); err != nil {
			return nil, err
		}
		pods = append(pods, pod)
	}
	return pods, nil
}

type indexer interface {
	Replace([]interface{}, string) error
}

func replace(store indexer, pods []*corev1.Pod) error {
	objects := make([]interface{}, 0, len(pods))
	for _, pod := range pods {
		objects = append(objects, pod)
	}
	return store.Replace(objects, "1")
}

// scaled is the scale of the one Deployment; its pods have the label app: web.
type scaled struct {
	namespace, name string
	spec, status    int32
}

func (s *scaled) client() *scalefake.FakeScaleClient {
	client := &scalefake.FakeScaleClient{}
	client.AddReactor("get", "deployments", func(core.Action) (bool, runtime.Object, error) { return true, s.object(), nil })
	client.AddReactor("update", "deployments", func(action core.Action) (bool, runtime.Object, error) {
		s.spec = action.(core.UpdateAction).GetObject().(*autoscalingv1.Scale).Spec.Replicas
		return true, s.object(), nil
	})
	return client
}

func (s *scaled) object() *autoscalingv1.Scale {
	return &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Name: s.name, Namespace: s.namespace},
		Spec:       autoscalingv1.ScaleSpec{Replicas: s.spec},
		Status:     autoscalingv1.ScaleStatus{Replicas: s.status, Selector: "app=web"},
	}
}

func mapper() meta.RESTMapper {
	version := schema.GroupVersion{Group: "apps", Version: "v1"}
	found := meta.NewDefaultRESTMapper([]schema.GroupVersion{version})
	found.Add(version.WithKind("Deployment"), meta.RESTScopeNamespace)
	return found
}

// measured gives the metrics of the step; it has none but those of resources.
type measured struct {
	metrics.MetricsClient
	start time.Time
	by    map[string]map[string]Metric
}

func (m *measured) GetResourceMetric(
	_ context.Context, resource corev1.ResourceName, _ string, _ labels.Selector, _ string,
) (metrics.PodMetricsInfo, time.Time, error) {
	found := metrics.PodMetricsInfo{}
	for pod, one := range m.by[string(resource)] {
		at := m.start.Add(time.Duration(one.At * float64(time.Second)))
		window := time.Duration(one.Window * float64(time.Second))
		found[pod] = metrics.PodMetric{Timestamp: at, Window: window, Value: one.Value}
	}
	if len(found) == 0 {
		return nil, time.Time{}, fmt.Errorf("no metrics returned from resource metrics API")
	}
	return found, m.start, nil
}
