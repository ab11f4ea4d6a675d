package main

import (
	"context"
	"fmt"
	"sort"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"
	schedapi "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/validation"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

const (
	generator = "TopologyPlacementGenerator"
	inOrder   = "PlacementsInOrder"
	first     = "FirstPlacement"
	further   = "FirstOfManyPlacements"
	bindings  = "Bindings"
	// scores is how many a plugin can give, from 0 to fwk.MaxScore. Two plugins give scores*scores places by name; all of that is less than one
	// point of any other plugin.
	scores  = 101
	weighty = scores * scores
)

// scoring are the plugins of kube-scheduler that score placements.
var scoring = map[string]bool{"NodeResourcesFit": true, "PodGroupPodsCount": true}

// configuration reads a KubeSchedulerConfiguration and puts this command's plugins into each profile.
func configuration(raw []byte) (*schedapi.KubeSchedulerConfiguration, error) {
	if len(raw) == 0 {
		raw = []byte(`{"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"KubeSchedulerConfiguration"}`)
	}
	obj, _, err := scheme.Codecs.UniversalDecoder().Decode(raw, nil, nil)
	if err != nil {
		return nil, err
	}
	cfg, is := obj.(*schedapi.KubeSchedulerConfiguration)
	if !is {
		return nil, fmt.Errorf("not a KubeSchedulerConfiguration: %T", obj)
	}
	if wrong := validation.ValidateKubeSchedulerConfiguration(cfg); wrong != nil {
		return nil, wrong
	}
	for i := range cfg.Profiles {
		settle(cfg.Profiles[i].Plugins)
	}
	return cfg, nil
}

// settle has placements tried in the order of their names, and the first of equally good ones taken.
func settle(set *schedapi.Plugins) {
	set.PostBind.Enabled = append(set.PostBind.Enabled, schedapi.Plugin{Name: bindings})
	listed := map[string]bool{}
	for i := range set.PlacementScore.Enabled {
		each := &set.PlacementScore.Enabled[i]
		listed[each.Name] = true
		each.Weight = max(each.Weight, 1) * weighty
	}
	off := map[string]bool{}
	for _, each := range set.PlacementScore.Disabled {
		off[each.Name] = true
	}
	for _, each := range set.MultiPoint.Enabled {
		if scoring[each.Name] && !listed[each.Name] && !off[each.Name] && !off["*"] {
			set.PlacementScore.Enabled = append(set.PlacementScore.Enabled, schedapi.Plugin{Name: each.Name, Weight: max(each.Weight, 1) * weighty})
		}
	}
	set.PlacementScore.Enabled = append(set.PlacementScore.Enabled, schedapi.Plugin{Name: first, Weight: 1}, schedapi.Plugin{Name: further, Weight: scores})
	for _, each := range append(set.MultiPoint.Enabled, set.PlacementGenerate.Enabled...) {
		if each.Name == generator && len(set.PlacementGenerate.Disabled) == 0 {
			set.PlacementGenerate = schedapi.PluginSet{Enabled: []schedapi.Plugin{{Name: inOrder}}, Disabled: []schedapi.Plugin{{Name: generator}}}
			return
		}
	}
}

func registry(ended chan<- types.UID) frameworkruntime.Registry {
	return frameworkruntime.Registry{
		first: func(context.Context, runtime.Object, fwk.Handle) (fwk.Plugin, error) {
			return &firstPlacement{first, 1}, nil
		},
		further: func(context.Context, runtime.Object, fwk.Handle) (fwk.Plugin, error) {
			return &firstPlacement{further, scores}, nil
		},
		bindings: func(context.Context, runtime.Object, fwk.Handle) (fwk.Plugin, error) { return &ends{ended}, nil },
		inOrder: func(ctx context.Context, args runtime.Object, h fwk.Handle) (fwk.Plugin, error) {
			real, err := plugins.NewInTreeRegistry()[generator](ctx, args, h)
			if err != nil {
				return nil, err
			}
			return &ordered{real.(fwk.PlacementGeneratePlugin)}, nil
		},
	}
}

// ends tells of each binding that succeeded.
type ends struct{ ended chan<- types.UID }

func (*ends) Name() string { return bindings }
func (e *ends) PostBind(_ context.Context, _ fwk.CycleState, pod *v1.Pod, _ string) {
	e.ended <- pod.UID
}

// ordered gives the placements of the real generator by name; that takes them from a map.
type ordered struct{ fwk.PlacementGeneratePlugin }

func (*ordered) Name() string { return inOrder }
func (o *ordered) GeneratePlacements(ctx context.Context, state fwk.PodGroupCycleState, group fwk.PodGroupInfo, parent *fwk.Placement) (*fwk.GeneratePlacementsResult, *fwk.Status) {
	result, status := o.PlacementGeneratePlugin.GeneratePlacements(ctx, state, group, parent)
	if status.IsSuccess() {
		sort.Slice(result.Placements, func(i, j int) bool { return result.Placements[i].Name < result.Placements[j].Name })
	}
	return result, status
}

// firstPlacement is the lot that kube-scheduler draws among equally good placements: here the first by name has the most.
// It gives one digit of the place, that of unit.
type firstPlacement struct {
	name string
	unit int
}

func (f *firstPlacement) Name() string                                           { return f.name }
func (f *firstPlacement) PlacementScoreExtensions() fwk.PlacementScoreExtensions { return f }
func (*firstPlacement) ScorePlacement(context.Context, fwk.PlacementCycleState, fwk.PodGroupInfo, *fwk.PodGroupAssignments) (int64, *fwk.Status) {
	return 0, nil
}
func (f *firstPlacement) NormalizePlacementScore(_ context.Context, _ fwk.PodGroupCycleState, _ fwk.PodGroupInfo, given []fwk.PlacementScore) *fwk.Status {
	order := make([]int, len(given))
	for i := range order {
		order[i] = i
	}
	sort.Slice(order, func(i, j int) bool { return given[order[i]].Placement.Name < given[order[j]].Placement.Name })
	for place, i := range order {
		given[i].Score = fwk.MaxScore - int64(place/f.unit%scores)
	}
	return nil
}

func split(name string) types.NamespacedName {
	namespace, rest, _ := strings.Cut(name, "/")
	return types.NamespacedName{Namespace: namespace, Name: rest}
}
