// Command policy122 says what kube-scheduler 1.22.17, the last that read a Policy, makes of one.
//
//	policy122 < policies.jsonl    {"name", "policy"} a line -> {"name", "plugins", "pluginConfig"} or {"name", "error"}
//
// The scheduler is built in process as its own command builds it, from a policy file and with nothing else configured.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/kube-scheduler/config/v1beta2"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/profile"
)

type question struct {
	Name   string          `json:"name"`
	Policy json.RawMessage `json:"policy"`
}

type enabled struct {
	Name   string `json:"name"`
	Weight int32  `json:"weight,omitempty"`
}

type answer struct {
	Name         string                 `json:"name"`
	Plugins      map[string][]enabled   `json:"plugins,omitempty"`
	PluginConfig map[string]interface{} `json:"pluginConfig,omitempty"`
	Error        string                 `json:"error,omitempty"`
}

func main() {
	flags := flag.NewFlagSet("klog", flag.ExitOnError)
	klog.InitFlags(flags)
	check(flags.Parse([]string{"-logtostderr=false", "-alsologtostderr=false", "-stderrthreshold=FATAL"}))
	folder, err := os.MkdirTemp("", "policy122")
	check(err)
	defer os.RemoveAll(folder)
	klog.SetOutput(discard{})
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	for in.More() {
		var asked question
		check(in.Decode(&asked))
		file := filepath.Join(folder, "policy")
		check(os.WriteFile(file, asked.Policy, 0o600))
		found := answer{Name: asked.Name}
		if made, err := profileOf(file); err != nil {
			found.Error = err.Error()
		} else {
			check(describe(made, &found))
		}
		check(out.Encode(found))
	}
}

type discard struct{}

func (discard) Write(text []byte) (int, error) { return len(text), nil }

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "policy122:", err)
		os.Exit(1)
	}
}

// profileOf builds a scheduler from the policy in file and returns the one profile that it runs.
func profileOf(file string) (made *config.KubeSchedulerProfile, err error) {
	stop := make(chan struct{})
	defer close(stop)
	defer func() { // some policies end kube-scheduler itself so
		if fault := recover(); fault != nil {
			err = fmt.Errorf("panic: %v", fault)
		}
	}()
	client := fake.NewSimpleClientset()
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()})
	_, err = scheduler.New(
		client, informers.NewSharedInformerFactory(client, 0), profile.NewRecorderFactory(broadcaster), stop,
		scheduler.WithComponentConfigVersion(v1beta2.SchemeGroupVersion.String()),
		scheduler.WithProfiles(),
		scheduler.WithLegacyPolicySource(&config.SchedulerPolicySource{File: &config.SchedulerPolicyFileSource{Path: file}}),
		scheduler.WithBuildFrameworkCapturer(func(one config.KubeSchedulerProfile) { made = one.DeepCopy() }),
	)
	return made, err
}

func describe(made *config.KubeSchedulerProfile, found *answer) error {
	points := map[string]config.PluginSet{
		"queueSort": made.Plugins.QueueSort, "preFilter": made.Plugins.PreFilter, "filter": made.Plugins.Filter,
		"postFilter": made.Plugins.PostFilter, "preScore": made.Plugins.PreScore, "score": made.Plugins.Score,
		"reserve": made.Plugins.Reserve, "permit": made.Plugins.Permit, "preBind": made.Plugins.PreBind,
		"bind": made.Plugins.Bind, "postBind": made.Plugins.PostBind,
	}
	found.Plugins, found.PluginConfig = map[string][]enabled{}, map[string]interface{}{}
	for point, set := range points {
		for _, one := range set.Enabled {
			found.Plugins[point] = append(found.Plugins[point], enabled{one.Name, one.Weight})
		}
	}
	for _, one := range made.PluginConfig {
		text, err := json.Marshal(one.Args)
		if err != nil {
			return err
		}
		var plain interface{}
		if err := json.Unmarshal(text, &plain); err != nil {
			return err
		}
		found.PluginConfig[one.Name] = spelled(plain)
	}
	return nil
}

// spelled is value with its fields as they are written in files: the scheduler's own types have no such names.
func spelled(value interface{}) interface{} {
	switch value := value.(type) {
	case map[string]interface{}:
		kept := map[string]interface{}{}
		for name, inner := range value {
			if inner != nil {
				kept[strings.ToLower(name[:1])+name[1:]] = spelled(inner)
			}
		}
		return kept
	case []interface{}:
		for at, inner := range value {
			value[at] = spelled(inner)
		}
	}
	return value
}
