package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"

	"k8s.io/api/core/v1"
	schedulerapi "k8s.io/kubernetes/pkg/scheduler/api"
	schedulercache "k8s.io/kubernetes/pkg/scheduler/cache"
)

// address stands in a Policy for where the extenders are.
const address = "http://extender"

// Script is what every extender says.
type Script struct {
	// Refuses are the nodes that filter leaves out, with a message.
	Refuses map[string]string `json:"refuses,omitempty"`
	// Drops are the nodes that preempt leaves out.
	Drops []string `json:"drops,omitempty"`
	// Spares are the uids of pods that preempt leaves out of the victims.
	Spares []string `json:"spares,omitempty"`
	// Breaks lets preempt fail.
	Breaks bool `json:"breaks,omitempty"`
}

// serve answers as the script says.
func (s *Script) serve() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(to http.ResponseWriter, request *http.Request) {
		var found interface{}
		if strings.HasSuffix(request.URL.Path, "/preempt") {
			var asked schedulerapi.ExtenderPreemptionArgs
			if s.Breaks || json.NewDecoder(request.Body).Decode(&asked) != nil {
				http.Error(to, "broken", http.StatusInternalServerError)
				return
			}
			found = s.preempt(&asked)
		} else {
			var asked schedulerapi.ExtenderArgs
			if json.NewDecoder(request.Body).Decode(&asked) != nil {
				http.Error(to, "broken", http.StatusInternalServerError)
				return
			}
			found = s.filter(&asked)
		}
		_ = json.NewEncoder(to).Encode(found)
	}))
}

func (s *Script) filter(asked *schedulerapi.ExtenderArgs) *schedulerapi.ExtenderFilterResult {
	found := &schedulerapi.ExtenderFilterResult{FailedNodes: schedulerapi.FailedNodesMap{}}
	if asked.NodeNames != nil {
		names := []string{}
		for _, name := range *asked.NodeNames {
			if why, refused := s.Refuses[name]; refused {
				found.FailedNodes[name] = why
			} else {
				names = append(names, name)
			}
		}
		found.NodeNames = &names
		return found
	}
	found.Nodes = &v1.NodeList{}
	for _, node := range asked.Nodes.Items {
		if why, refused := s.Refuses[node.Name]; refused {
			found.FailedNodes[node.Name] = why
		} else {
			found.Nodes.Items = append(found.Nodes.Items, node)
		}
	}
	return found
}

func (s *Script) preempt(asked *schedulerapi.ExtenderPreemptionArgs) *schedulerapi.ExtenderPreemptionResult {
	found := &schedulerapi.ExtenderPreemptionResult{NodeNameToMetaVictims: map[string]*schedulerapi.MetaVictims{}}
	put := func(node string, uids []string, violations int) {
		if contains(s.Drops, node) {
			return
		}
		named := &schedulerapi.MetaVictims{NumPDBViolations: violations, Pods: []*schedulerapi.MetaPod{}}
		for _, uid := range uids {
			if !contains(s.Spares, uid) {
				named.Pods = append(named.Pods, &schedulerapi.MetaPod{UID: uid})
			}
		}
		found.NodeNameToMetaVictims[node] = named
	}
	for node, victims := range asked.NodeNameToVictims {
		uids := []string{}
		for _, pod := range victims.Pods {
			uids = append(uids, string(pod.UID))
		}
		put(node, uids, victims.NumPDBViolations)
	}
	for node, victims := range asked.NodeNameToMetaVictims {
		uids := []string{}
		for _, pod := range victims.Pods {
			uids = append(uids, pod.UID)
		}
		put(node, uids, victims.NumPDBViolations)
	}
	return found
}

func contains(among []string, one string) bool {
	for _, each := range among {
		if each == one {
			return true
		}
	}
	return false
}

// listener is an extender that agrees with everything, and keeps the victims it is told of.
type listener struct{ victims map[string]Victims }

func (l *listener) Name() string              { return "listener" }
func (l *listener) IsBinder() bool            { return false }
func (l *listener) Bind(*v1.Binding) error    { return nil }
func (l *listener) IsInterested(*v1.Pod) bool { return true }
func (l *listener) SupportsPreemption() bool  { return true }
func (l *listener) IsIgnorable() bool         { return false }

func (l *listener) Filter(
	_ *v1.Pod, nodes []*v1.Node, _ map[string]*schedulercache.NodeInfo,
) ([]*v1.Node, schedulerapi.FailedNodesMap, error) {
	return nodes, nil, nil
}

func (l *listener) Prioritize(*v1.Pod, []*v1.Node) (*schedulerapi.HostPriorityList, int, error) {
	return &schedulerapi.HostPriorityList{}, 0, nil
}

func (l *listener) ProcessPreemption(
	_ *v1.Pod, found map[*v1.Node]*schedulerapi.Victims, _ map[string]*schedulercache.NodeInfo,
) (map[*v1.Node]*schedulerapi.Victims, error) {
	l.victims = map[string]Victims{}
	for node, victims := range found {
		l.victims[node.Name] = Victims{keys(victims.Pods), victims.NumPDBViolations}
	}
	return found, nil
}
