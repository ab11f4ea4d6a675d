// Command apitypes prints the Go types of the API objects that the sandbox serves, a field a line: the table of
// kschedweb/engine/sandbox/schema. It reads them from k8s.io/api by reflection.
package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"sort"
	"strings"

	apps "k8s.io/api/apps/v1"
	authorization "k8s.io/api/authorization/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	batch "k8s.io/api/batch/v1"
	coordination "k8s.io/api/coordination/v1"
	core "k8s.io/api/core/v1"
	events "k8s.io/api/events/v1"
	node "k8s.io/api/node/v1"
	policy "k8s.io/api/policy/v1"
	dra "k8s.io/api/resource/v1"
	scheduling "k8s.io/api/scheduling/v1"
	storage "k8s.io/api/storage/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// In the order of kschedweb/engine/sandbox/resources.py, then what is posted to an object.
var roots = []any{
	core.Namespace{}, core.Node{}, core.Pod{}, core.Service{}, core.ConfigMap{}, core.Endpoints{}, core.Event{},
	events.Event{}, core.PersistentVolume{}, core.PersistentVolumeClaim{}, core.ReplicationController{},
	core.ResourceQuota{}, apps.Deployment{}, apps.ReplicaSet{}, apps.StatefulSet{}, apps.DaemonSet{}, batch.Job{},
	autoscaling.HorizontalPodAutoscaler{}, policy.PodDisruptionBudget{}, scheduling.PriorityClass{},
	node.RuntimeClass{}, storage.StorageClass{}, storage.CSINode{}, storage.CSIDriver{}, storage.CSIStorageCapacity{},
	storage.VolumeAttachment{}, coordination.Lease{}, dra.ResourceClaim{}, dra.ResourceClaimTemplate{},
	dra.ResourceSlice{}, dra.DeviceClass{},
	core.Binding{}, policy.Eviction{}, meta.DeleteOptions{}, authorization.SelfSubjectAccessReview{},
}

var reader = reflect.TypeOf((*json.Unmarshaler)(nil)).Elem()

type printer struct {
	names map[string]reflect.Type // a name, and the type that has it
	queue []reflect.Type
}

// name is Go's own for a struct, with its group where two have the same.
func (p *printer) name(t reflect.Type) string {
	name := t.String()
	if known, ok := p.names[name]; ok && known != t {
		parts := strings.Split(t.PkgPath(), "/")
		name += "@" + parts[len(parts)-2]
	}
	if _, ok := p.names[name]; !ok {
		p.names[name] = t
		p.queue = append(p.queue, t)
	}
	return name
}

// text is a type: *T for a pointer, []T, map[string]T, name for a struct, name~T for a name of T.
func (p *printer) text(t reflect.Type) string {
	if t.Kind() != reflect.Pointer && (t.Implements(reader) || reflect.PointerTo(t).Implements(reader)) {
		return "!" + t.String() // reads itself
	}
	plain := ""
	switch t.Kind() {
	case reflect.Pointer:
		return "*" + p.text(t.Elem())
	case reflect.Struct:
		return p.name(t)
	case reflect.Slice:
		plain = "[]" + p.text(t.Elem())
	case reflect.Map:
		plain = "map[string]" + p.text(t.Elem())
	default:
		plain = t.Kind().String()
	}
	if t.Name() != "" && t.Name() != t.Kind().String() {
		return t.String() + "~" + plain
	}
	return plain
}

func (p *printer) fields(t reflect.Type, inside string, rows *[]string) {
	for i := range t.NumField() {
		field := t.Field(i)
		name, flags, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Anonymous && name == "" {
			p.fields(field.Type, strings.TrimPrefix(inside+"."+field.Name, "."), rows)
			continue
		}
		if !field.IsExported() || name == "-" {
			continue
		}
		marks := ""
		for _, flag := range []string{"omitempty", "omitzero"} {
			if strings.Contains(flags, flag) {
				marks += flag[4:5]
			}
		}
		*rows = append(*rows, strings.Join([]string{name, p.text(field.Type), marks, inside}, "\t"))
	}
}

func main() {
	p := &printer{names: map[string]reflect.Type{}}
	for _, root := range roots {
		p.name(reflect.TypeOf(root))
	}
	sections := map[string]string{}
	for at := 0; at < len(p.queue); at++ {
		t := p.queue[at]
		var rows []string
		p.fields(t, "", &rows)
		for i, row := range rows {
			rows[i] = strings.TrimRight(row, "\t")
		}
		sections[p.name(t)] = strings.Join(rows, "\n")
	}
	names := make([]string, 0, len(sections))
	for name := range sections {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		fmt.Printf("%s\n%s\n\n", name, sections[name])
	}
}
