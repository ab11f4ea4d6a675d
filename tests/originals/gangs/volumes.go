package main

import (
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/testing"
	"k8s.io/component-helpers/storage/volume"
)

var (
	volumes = v1.SchemeGroupVersion.WithResource("persistentvolumes")
	claims  = v1.SchemeGroupVersion.WithResource("persistentvolumeclaims")
	classes = storagev1.SchemeGroupVersion.WithResource("storageclasses")
	drivers = storagev1.SchemeGroupVersion.WithResource("csinodes")
)

// volumeController does at once what the volume controller and the provisioners do when a binding has written that a
// volume is taken, or for which node one has to be made: the binding waits for it. Versions are not compared: of pods that
// share a claim each may write.
func (c *cluster) volumeController() {
	c.client.PrependReactor("update", "persistentvolumes", func(a testing.Action) (bool, runtime.Object, error) {
		taken := a.(testing.UpdateAction).GetObject().(*v1.PersistentVolume).DeepCopy()
		claim, err := c.claim(taken.Spec.ClaimRef.Namespace, taken.Spec.ClaimRef.Name)
		if err != nil {
			return true, nil, err
		}
		return true, taken, c.join(claim, taken.DeepCopy())
	})
	c.client.PrependReactor("update", "persistentvolumeclaims", func(a testing.Action) (bool, runtime.Object, error) {
		claim := a.(testing.UpdateAction).GetObject().(*v1.PersistentVolumeClaim)
		there, err := c.claim(claim.Namespace, claim.Name)
		if err != nil || there.Spec.VolumeName != "" {
			return true, there, err // another pod with the same claim was first
		}
		made, err := c.provision(claim)
		if err != nil {
			return true, nil, err
		}
		if err := c.client.Tracker().Create(volumes, made, ""); err != nil {
			return true, nil, err
		}
		return true, claim.DeepCopy(), c.join(claim.DeepCopy(), made.DeepCopy())
	})
}

func (c *cluster) claim(namespace, name string) (*v1.PersistentVolumeClaim, error) {
	obj, err := c.client.Tracker().Get(claims, namespace, name)
	if err != nil {
		return nil, err
	}
	return obj.(*v1.PersistentVolumeClaim).DeepCopy(), nil
}

// join stores that claim and taken are bound to each other, and tells of both.
func (c *cluster) join(claim *v1.PersistentVolumeClaim, taken *v1.PersistentVolume) error {
	taken.Spec.ClaimRef = &v1.ObjectReference{Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID}
	taken.Status.Phase = v1.VolumeBound
	claim.Spec.VolumeName, claim.Status.Phase = taken.Name, v1.ClaimBound
	metav1.SetMetaDataAnnotation(&claim.ObjectMeta, volume.AnnBindCompleted, "yes")
	if err := c.client.Tracker().Update(volumes, taken, ""); err != nil {
		return err
	}
	if err := c.client.Tracker().Update(claims, claim, claim.Namespace); err != nil {
		return err
	}
	if err := c.tell(written{obj: taken.DeepCopy()}); err != nil {
		return err
	}
	return c.tell(written{obj: claim.DeepCopy()})
}

// provision is the volume that a CSI driver makes for claim, reached from where the node is that was selected.
func (c *cluster) provision(claim *v1.PersistentVolumeClaim) (*v1.PersistentVolume, error) {
	obj, err := c.client.Tracker().Get(classes, "", *claim.Spec.StorageClassName)
	if err != nil {
		return nil, err
	}
	driver := obj.(*storagev1.StorageClass).Provisioner
	name := "pvc-" + string(claim.UID)
	made := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.PersistentVolumeSpec{
		AccessModes: claim.Spec.AccessModes, Capacity: claim.Spec.Resources.Requests, VolumeMode: claim.Spec.VolumeMode,
		StorageClassName: *claim.Spec.StorageClassName, VolumeAttributesClassName: claim.Spec.VolumeAttributesClassName,
		PersistentVolumeSource: v1.PersistentVolumeSource{CSI: &v1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: name}},
	}}
	segment, err := c.segment(claim.Annotations[volume.AnnSelectedNode], driver)
	if len(segment) > 0 {
		terms := []v1.NodeSelectorTerm{{MatchExpressions: segment}}
		made.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: terms}}
	}
	return made, err
}

// segment is where a node is, as the driver on it reports it.
func (c *cluster) segment(node, driver string) ([]v1.NodeSelectorRequirement, error) {
	obj, err := c.client.Tracker().Get(v1.SchemeGroupVersion.WithResource("nodes"), "", node)
	if err != nil {
		return nil, err
	}
	labels := obj.(*v1.Node).Labels
	there, err := c.client.Tracker().Get(drivers, "", node)
	if err != nil {
		return nil, nil
	}
	var found []v1.NodeSelectorRequirement
	for _, each := range there.(*storagev1.CSINode).Spec.Drivers {
		for _, key := range each.TopologyKeys {
			if value, has := labels[key]; has && each.Name == driver {
				found = append(found, v1.NodeSelectorRequirement{Key: key, Operator: v1.NodeSelectorOpIn, Values: []string{value}})
			}
		}
	}
	return found, nil
}
