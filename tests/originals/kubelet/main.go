// Command kubelet says what the kubelet's admission of pods makes of a pod that names its node.
//
//	kubelet < questions.jsonl
//
// A line in is a Question, a line out is an Answer. The handlers are the kubelet's own: the one that asks the
// scheduler's filters, and the one that makes room for critical pods. Pods are defaulted as the API server would.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	defaults "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
	"k8s.io/kubernetes/pkg/kubelet/preemption"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// Question is a node, the pods that run there, and the pod that comes.
type Question struct {
	Name string    `json:"name"`
	Node *v1.Node  `json:"node"`
	Pods []*v1.Pod `json:"pods"`
	Pod  *v1.Pod   `json:"pod"`
}

// Answer is what the kubelet writes of the pod, and the pods that it ends to make room, by name.
type Answer struct {
	Name    string   `json:"name"`
	Admit   bool     `json:"admit"`
	Reason  string   `json:"reason,omitempty"`
	Message string   `json:"message,omitempty"`
	Ended   []string `json:"ended,omitempty"`
}

func main() {
	klog.SetLogger(klog.New(nil))
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var question Question
		if err := in.Decode(&question); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			fmt.Fprintln(os.Stderr, "kubelet:", err)
			os.Exit(1)
		}
		if err := out.Encode(answer(&question)); err != nil {
			fmt.Fprintln(os.Stderr, "kubelet:", err)
			os.Exit(1)
		}
	}
}

func answer(question *Question) Answer {
	for _, pod := range append([]*v1.Pod{question.Pod}, question.Pods...) {
		defaults.SetObjectDefaults_Pod(pod)
	}
	found := Answer{Name: question.Name}
	running := func() []*v1.Pod { return append([]*v1.Pod(nil), question.Pods...) }
	end := func(pod *v1.Pod, _ bool, _ *int64, _ func(*v1.PodStatus)) error {
		found.Ended = append(found.Ended, pod.Name)
		return nil
	}
	node := func(context.Context, bool) (*v1.Node, error) { return question.Node, nil }
	devices := func(*framework.NodeInfo, *lifecycle.PodAdmitAttributes) error { return nil }
	critical := preemption.NewCriticalPodAdmissionHandler(running, end, &record.FakeRecorder{})
	handler := lifecycle.NewPredicateAdmitHandler(node, critical, devices)
	result := handler.Admit(context.Background(), &lifecycle.PodAdmitAttributes{Pod: question.Pod, OtherPods: running()})
	found.Admit, found.Reason, found.Message = result.Admit, result.Reason, result.Message
	return found
}
