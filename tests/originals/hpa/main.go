// Command hpa runs the real controller of HorizontalPodAutoscalers, and the real choice of the pods that a ReplicaSet
// deletes, over scenarios in which only the clock is made up.
//
//	hpa < scenarios.jsonl
//
// A line in is a Scenario, a line out is an Answer. Each scenario runs in a bubble of testing/synctest: the controller's
// own queue wakes it every 15 seconds of a clock that jumps from one thing that is due to the next, so that the same
// scenario has the same answer.
package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"testing"
	"testing/synctest"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
)

// Scenario is an autoscaler with what it sees at each of its looks, or pods of which some are to be deleted.
type Scenario struct {
	Name string `json:"name"`
	// HPA is a HorizontalPodAutoscaler of any version of autoscaling.
	HPA json.RawMessage `json:"hpa,omitempty"`
	// Replicas is what the Deployment asks for at first.
	Replicas int32 `json:"replicas,omitempty"`
	// Steps are 15 seconds apart.
	Steps []Step `json:"steps,omitempty"`
	// Order asks for the order of deletion.
	Order *Order `json:"order,omitempty"`
	// Cron asks when an expression is due.
	Cron *Cron `json:"cron,omitempty"`
}

// Cron is an expression, and how often it is to be due after so many seconds from the beginning of 2024.
type Cron struct {
	Expression string `json:"expression"`
	From       int64  `json:"from"`
	Count      int    `json:"count"`
}

// Step is what there is at a look.
type Step struct {
	Pods []json.RawMessage `json:"pods"`
	// Metrics by resource and pod; a resource that is missing cannot be measured.
	Metrics map[string]map[string]Metric `json:"metrics"`
	// Replicas: somebody else scales to so many before the look.
	Replicas *int32 `json:"replicas,omitempty"`
}

// Metric is a pod's use, in milli-units, as measured at so many seconds from the beginning over a window of seconds.
type Metric struct {
	Value  int64   `json:"value"`
	At     float64 `json:"at"`
	Window float64 `json:"window"`
}

// Order is a ReplicaSet's pods and those of all sets of its owner, at so many seconds from the beginning.
type Order struct {
	Pods    []json.RawMessage `json:"pods"`
	Related []json.RawMessage `json:"related"`
	Now     float64           `json:"now"`
	Delete  int               `json:"delete"`
}

// Answer is what was read of the autoscaler and what came of each look, or the pods that are deleted.
type Answer struct {
	Name string `json:"name"`
	// Metrics is how many the autoscaler has.
	Metrics int      `json:"metrics,omitempty"`
	Looks   []Look   `json:"looks,omitempty"`
	Order   []string `json:"order,omitempty"`
	Due     []int64  `json:"due,omitempty"`
	Error   string   `json:"error,omitempty"`
}

// Look is what the Deployment asks for after the look, and the autoscaler's conditions.
type Look struct {
	Replicas   int32             `json:"replicas"`
	Conditions map[string]string `json:"conditions"`
	// Utilization of each resource in percent, where that is aimed at.
	Utilization map[string]int32 `json:"utilization,omitempty"`
}

func main() {
	klog.SetLogger(klog.New(nil))
	utilruntime.ErrorHandlers = nil // one of them sleeps, by the clock outside of the bubbles
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	os.Stdout = os.Stderr // what the package testing says is no answer
	all := func(_, _ string) (bool, error) { return true, nil }
	testing.Main(all, []testing.InternalTest{{Name: "hpa", F: func(t *testing.T) {
		if err := run(t, in, out); err != nil {
			t.Fatal(err)
		}
	}}}, nil, nil)
}

func run(t *testing.T, in *json.Decoder, out *json.Encoder) error {
	for {
		var scenario Scenario
		if err := in.Decode(&scenario); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		answer := Answer{Name: scenario.Name}
		synctest.Test(t, func(t *testing.T) { // a bubble of its own, whose clock begins with the year 2000
			if err := play(t, &scenario, &answer); err != nil {
				answer.Error = err.Error()
			}
		})
		if err := out.Encode(answer); err != nil {
			return err
		}
	}
}
