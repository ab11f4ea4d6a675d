// Command gangs runs the real kube-scheduler, its queue and its cycles, over pods that belong to PodGroups.
//
//	gangs < scenarios.jsonl
//
// A line in is a Scenario, a line out is an Answer. ORACLE_FEATURE_GATES=Name=true,… turns gates on or off.
// What happens at once in a cluster happens here one after the other: objects are told to the scheduler by informers
// that call its handlers directly, and what a cycle wrote is told when its bindings have ended. So the same scenario
// has the same answer. Where kube-scheduler draws lots among placements, the first by name wins here.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"
)

// Scenario is a cluster and the pods that wait in it.
type Scenario struct {
	Name string `json:"name"`
	// Config is a KubeSchedulerConfiguration; none: the defaults.
	Config json.RawMessage `json:"config,omitempty"`
	// Objects are there at first: nodes, bound pods, PodGroups, namespaces, budgets.
	Objects []json.RawMessage `json:"objects"`
	// Pending are the pods without a node, in the order in which they come.
	Pending []json.RawMessage `json:"pending"`
	// Later are objects that come after the first round, one list before each further round.
	Later [][]json.RawMessage `json:"later,omitempty"`
	// Rounds: in each of them every pod or group that the queue gives is tried once at most. None: one more than Later.
	Rounds int `json:"rounds,omitempty"`
	// Most lets a round go on as long as the queue gives something, up to so many attempts in it; nothing is held then.
	Most int `json:"most,omitempty"`
}

// Answer is what the scheduler did, in order.
type Answer struct {
	Name     string    `json:"name"`
	Attempts []Attempt `json:"attempts"`
	// Pending are the pods that have no node at the end.
	Pending []string `json:"pending"`
}

// Attempt is one cycle, of one pod or of a group.
type Attempt struct {
	Round  int    `json:"round"`
	Entity string `json:"entity"`
	// Pods are those whose outcome the cycle told, by name.
	Pods []Outcome `json:"pods"`
	// Group is the condition that the group has after the cycle.
	Group *Condition `json:"group,omitempty"`
	// Groups are the conditions of the groups below, by name, where it is a group of groups.
	Groups map[string]*Condition `json:"groups,omitempty"`
	// Evicted are the victims, by name: a group's are in no order.
	Evicted []string `json:"evicted,omitempty"`
}

// Outcome is a pod's node, or the reason and message of its condition PodScheduled as it is stored.
type Outcome struct {
	Pod       string `json:"pod"`
	Node      string `json:"node,omitempty"`
	Reason    string `json:"reason,omitempty"`
	Message   string `json:"message,omitempty"`
	Nominated string `json:"nominated,omitempty"`
}

// Condition is one of a group's status.
type Condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// gates: what runs beside the cycle would make the order of events a matter of chance, what is remembered of the last
// pod for half a second would make the nodes one.
const gates = "GenericWorkload=true,SchedulerAsyncPreemption=false,SchedulerAsyncAPICalls=false," +
	"OpportunisticBatching=false"

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "gangs:", err)
		os.Exit(1)
	}
}

func run() error {
	klog.SetLogger(klog.New(nil))
	for _, each := range []string{gates, os.Getenv("ORACLE_FEATURE_GATES")} {
		if each == "" {
			continue
		}
		if err := utilfeature.DefaultMutableFeatureGate.Set(each); err != nil {
			return err
		}
	}
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var scenario Scenario
		if err := in.Decode(&scenario); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		answer, err := play(&scenario)
		if err != nil {
			return fmt.Errorf("%s: %w", scenario.Name, err)
		}
		if err := out.Encode(answer); err != nil {
			return err
		}
	}
}
