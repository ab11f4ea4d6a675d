// Command preempt113 says whom kube-scheduler 1.13.0 would evict for pods that fit nowhere.
//
//	preempt113 < scenarios.jsonl
//
// A line in is a Scenario, a line out is its Answers. Each pending pod is asked about in the cluster as it was given:
// nothing is bound or evicted. Pending pods with a nominated node are in the queue, and count on that node.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sort"

	"k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/core"
	"k8s.io/klog"
)

// Scenario is a cluster, the Policy by which it is scheduled, and the pods that wait in it.
type Scenario struct {
	Name string `json:"name"`
	// Policy is a v1 Policy; none: the default provider. Its extenders are answered by Extender.
	Policy json.RawMessage `json:"policy,omitempty"`
	// Objects are nodes, bound pods, budgets, services, volumes.
	Objects []json.RawMessage `json:"objects"`
	Pending []json.RawMessage `json:"pending"`
	// Extender is what the extenders of the Policy say.
	Extender *Script `json:"extender,omitempty"`
}

// Answers has one Answer for each pending pod.
type Answers struct {
	Name  string   `json:"name"`
	Pods  []Answer `json:"pods,omitempty"`
	Error string   `json:"error,omitempty"`
}

// Answer is what comes of one pod.
type Answer struct {
	Pod string `json:"pod"`
	// Node is where it fits, Message why it fits nowhere.
	Node    string `json:"node,omitempty"`
	Message string `json:"message,omitempty"`
	// Candidates are the nodes where evictions make room, as they were before extenders were asked.
	Candidates map[string]Victims `json:"candidates,omitempty"`
	// Nominated are the nodes that it may take, more than one where only the order of Go's maps decides.
	Nominated []string `json:"nominated,omitempty"`
	// Evicted are the victims on each of these.
	Evicted map[string][]string `json:"evicted,omitempty"`
	// Cleared are the pods that lose their nominated node, which may be the pod itself, for each of these; "" for none.
	Cleared map[string][]string `json:"cleared,omitempty"`
	// Failed is the error that preemption ends in.
	Failed string `json:"failed,omitempty"`
}

// Victims are the pods that would go, in order, and how many of them a budget would keep.
type Victims struct {
	Pods       []string `json:"pods"`
	Violations int      `json:"violations"`
}

// repeats is how often preemption is asked: of equal nodes it takes any, as Go's maps give them.
const repeats = 200

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "preempt113:", err)
		os.Exit(1)
	}
}

func run() error {
	klog.SetOutput(io.Discard)
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	for {
		var scenario Scenario
		if err := in.Decode(&scenario); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		found := Answers{Name: scenario.Name}
		pods, err := answer(&scenario)
		if err != nil {
			found.Error = err.Error()
		} else {
			found.Pods = pods
		}
		if err := out.Encode(found); err != nil {
			return err
		}
	}
}

func answer(scenario *Scenario) (found []Answer, err error) {
	defer func() { // some policies end kube-scheduler itself so
		if fault := recover(); fault != nil {
			err = fmt.Errorf("panic: %v", fault)
		}
	}()
	cluster, err := start(scenario)
	if err != nil {
		return nil, err
	}
	defer cluster.stop()
	for _, pod := range cluster.pending {
		one, err := cluster.ask(pod)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key(pod), err)
		}
		found = append(found, one)
	}
	return found, nil
}

// ask lets the scheduler place pod, and where it fits nowhere make room for it.
func (c *cluster) ask(pod *v1.Pod) (Answer, error) {
	found := Answer{Pod: key(pod)}
	node, failure := c.config.Algorithm.Schedule(pod, c.config.NodeLister)
	if failure == nil {
		found.Node = node
		return found, nil
	}
	found.Message = failure.Error()
	if _, fits := failure.(*core.FitError); !fits {
		return found, nil
	}
	var err error
	if found.Candidates, err = c.candidates(pod, failure); err != nil {
		return found, err
	}
	taken, evicted, cleared := map[string]bool{}, map[string][]string{}, map[string][]string{}
	for range repeats {
		node, victims, lost, err := c.config.Algorithm.Preempt(pod, c.config.NodeLister, failure)
		if err != nil {
			found.Failed = err.Error()
			break
		}
		name := ""
		if node != nil {
			name = node.Name
			taken[name] = true
			evicted[name] = keys(victims)
		}
		if len(lost) > 0 {
			cleared[name] = keys(lost)
			sort.Strings(cleared[name])
		}
	}
	for name := range taken {
		found.Nominated = append(found.Nominated, name)
	}
	sort.Strings(found.Nominated)
	found.Evicted, found.Cleared = evicted, cleared
	return found, nil
}

// candidates asks the same scheduler with one extender that only listens.
func (c *cluster) candidates(pod *v1.Pod, failure error) (map[string]Victims, error) {
	heard := &listener{}
	algorithm := c.listening(heard)
	_, _, _, err := algorithm.Preempt(pod, c.config.NodeLister, failure)
	return heard.victims, err
}

func key(pod *v1.Pod) string { return pod.Namespace + "/" + pod.Name }

func keys(pods []*v1.Pod) []string {
	found := []string{}
	for _, pod := range pods {
		found = append(found, key(pod))
	}
	return found
}

