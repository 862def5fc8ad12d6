package main

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// hand is a client that edits slices of a controller.
type hand struct {
	dice
	store     *store
	service   string
	managedBy string
}

// edit applies one change and returns its description. Without a slice it
// can only add a foreign one.
func (h hand) edit() string {
	if len(h.store.slices) == 0 {
		return h.addForeign()
	}
	slice := h.store.slices[h.IntN(len(h.store.slices))]
	return pickWeighted(h.dice, []weighted[func(*discovery.EndpointSlice) string]{
		{3, h.removeEndpoint}, {3, h.addEndpoint}, {3, h.editEndpoint}, {3, h.editHints}, {4, h.relabel},
		{2, h.annotate}, {2, h.editPorts}, {3, h.disown}, {4, h.duplicate}, {2, h.deleteSlice},
		{1, h.relabelAway}, {2, h.shuffleEndpoints}, {3, h.split}, {1, h.merge},
		{3, func(*discovery.EndpointSlice) string { return h.addForeign() }},
	})(slice)
}

func (h hand) removeEndpoint(slice *discovery.EndpointSlice) string {
	if len(slice.Endpoints) > 0 {
		at := h.IntN(len(slice.Endpoints))
		slice.Endpoints = append(slice.Endpoints[:at:at], slice.Endpoints[at+1:]...)
		slice.Generation++
	}
	return fmt.Sprintf("endpoint taken out of %s by hand", slice.Name)
}

func (h hand) addEndpoint(slice *discovery.EndpointSlice) string {
	endpoint := discovery.Endpoint{Addresses: []string{"10.66.0.1"}, Conditions: discovery.EndpointConditions{Ready: ptr.To(true)}}
	switch slice.AddressType {
	case discovery.AddressTypeIPv6:
		endpoint.Addresses = []string{"fd00:66::1"}
	case discovery.AddressTypeFQDN:
		endpoint.Addresses = []string{"more.example.com"}
	}
	if len(slice.Endpoints) > 0 && h.percent(30) {
		endpoint = *slice.Endpoints[h.IntN(len(slice.Endpoints))].DeepCopy()
	}
	slice.Endpoints = append(slice.Endpoints, endpoint)
	slice.Generation++
	return fmt.Sprintf("endpoint put into %s by hand", slice.Name)
}

func (h hand) editEndpoint(slice *discovery.EndpointSlice) string {
	if len(slice.Endpoints) > 0 {
		endpoint := &slice.Endpoints[h.IntN(len(slice.Endpoints))]
		switch h.IntN(7) {
		case 0:
			endpoint.Conditions = discovery.EndpointConditions{}
		case 1:
			endpoint.Conditions.Ready = ptr.To(h.percent(50))
		case 2:
			endpoint.Zone = pick(h.dice, nil, ptr.To("zone-x"), ptr.To(""))
		case 3:
			endpoint.NodeName = pick(h.dice, nil, ptr.To("node-x"))
		case 4:
			endpoint.Hostname = ptr.To("renamed")
		case 5:
			endpoint.TargetRef = nil
		default:
			endpoint.Conditions.Terminating = nil
			if endpoint.TargetRef != nil {
				endpoint.TargetRef.UID += "-edited"
			}
		}
		slice.Generation++
	}
	return fmt.Sprintf("endpoint of %s edited by hand", slice.Name)
}

func (h hand) editHints(slice *discovery.EndpointSlice) string {
	for i := range slice.Endpoints {
		if h.percent(60) {
			slice.Endpoints[i].Hints = pick(h.dice, nil,
				&discovery.EndpointHints{ForZones: []discovery.ForZone{{Name: "zone-a"}}},
				&discovery.EndpointHints{ForZones: []discovery.ForZone{{Name: "zone-a"}, {Name: "zone-b"}}},
				&discovery.EndpointHints{ForNodes: []discovery.ForNode{{Name: "node-1"}}},
				&discovery.EndpointHints{})
		}
	}
	slice.Generation++
	return fmt.Sprintf("hints of %s edited by hand", slice.Name)
}

func (h hand) relabel(slice *discovery.EndpointSlice) string {
	switch h.IntN(4) {
	case 0:
		slice.Labels["team"] = "tampered"
	case 1:
		slice.Labels["example.com/by-hand"] = "yes"
	case 2:
		delete(slice.Labels, "team")
	default:
		if _, ok := slice.Labels[corev1.IsHeadlessService]; ok {
			delete(slice.Labels, corev1.IsHeadlessService)
		} else {
			slice.Labels[corev1.IsHeadlessService] = ""
		}
	}
	return fmt.Sprintf("labels of %s edited by hand", slice.Name)
}

func (h hand) annotate(slice *discovery.EndpointSlice) string {
	if slice.Annotations == nil {
		slice.Annotations = map[string]string{}
	}
	key := pick(h.dice, "example.com/by-hand", corev1.EndpointsLastChangeTriggerTime)
	if _, ok := slice.Annotations[key]; ok && h.percent(50) {
		delete(slice.Annotations, key)
	} else {
		slice.Annotations[key] = "by hand"
	}
	return fmt.Sprintf("annotations of %s edited by hand", slice.Name)
}

func (h hand) editPorts(slice *discovery.EndpointSlice) string {
	switch {
	case len(slice.Ports) == 0 || h.percent(25):
		slice.Ports = append(slice.Ports, discovery.EndpointPort{
			Name: ptr.To("by-hand"), Protocol: ptr.To(corev1.ProtocolTCP), Port: ptr.To[int32](6666),
		})
	case h.percent(25):
		slice.Ports = slice.Ports[1:]
	case h.percent(50):
		h.Shuffle(len(slice.Ports), func(i, j int) { slice.Ports[i], slice.Ports[j] = slice.Ports[j], slice.Ports[i] })
	default:
		slice.Ports[0].Port = pick(h.dice, nil, ptr.To[int32](6667))
	}
	slice.Generation++
	return fmt.Sprintf("ports of %s edited by hand", slice.Name)
}

func (h hand) disown(slice *discovery.EndpointSlice) string {
	switch {
	case len(slice.OwnerReferences) == 0 || h.percent(30):
		slice.OwnerReferences = nil
		return fmt.Sprintf("owner of %s removed by hand", slice.Name)
	case h.percent(50):
		other := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "other", UID: "other-uid"}
		slice.OwnerReferences = append([]metav1.OwnerReference{other}, slice.OwnerReferences...)
		return fmt.Sprintf("owner added to %s by hand", slice.Name)
	default:
		slice.OwnerReferences[0].UID = "other-uid"
		return fmt.Sprintf("owner of %s changed by hand", slice.Name)
	}
}

func (h hand) duplicate(slice *discovery.EndpointSlice) string {
	twin := slice.DeepCopy()
	twin.Name = fmt.Sprintf("%s-dup%d", slice.Name, h.store.names)
	name := slice.Name
	h.store.add(twin)
	return fmt.Sprintf("%s duplicated by hand", name)
}

func (h hand) deleteSlice(slice *discovery.EndpointSlice) string {
	h.store.remove(slice.Name)
	return fmt.Sprintf("%s deleted by hand", slice.Name)
}

// relabelAway hides a slice from its controller: it no longer finds it.
func (h hand) relabelAway(slice *discovery.EndpointSlice) string {
	h.store.remove(slice.Name)
	return fmt.Sprintf("managed-by label of %s changed by hand", slice.Name)
}

func (h hand) shuffleEndpoints(slice *discovery.EndpointSlice) string {
	h.Shuffle(len(slice.Endpoints), func(i, j int) {
		slice.Endpoints[i], slice.Endpoints[j] = slice.Endpoints[j], slice.Endpoints[i]
	})
	slice.Generation++
	return fmt.Sprintf("endpoints of %s reordered by hand", slice.Name)
}

// split leaves a slice with some endpoints and puts the others into a new one.
func (h hand) split(slice *discovery.EndpointSlice) string {
	name := slice.Name
	if len(slice.Endpoints) > 1 {
		at := h.between(1, len(slice.Endpoints)-1)
		half := slice.DeepCopy()
		half.Name = fmt.Sprintf("%s-half%d", name, h.store.names)
		half.Endpoints = half.Endpoints[at:]
		slice.Endpoints = slice.Endpoints[:at:at]
		slice.Generation++
		h.store.add(half)
	}
	return fmt.Sprintf("%s split by hand", name)
}

// merge may fill a slice beyond the maximum.
func (h hand) merge(slice *discovery.EndpointSlice) string {
	for _, other := range h.store.slices {
		if other != slice && other.AddressType == slice.AddressType && samePorts(other, slice) {
			slice.Endpoints = append(slice.Endpoints, other.Endpoints...)
			slice.Generation++
			h.store.remove(other.Name)
			return fmt.Sprintf("%s merged into %s by hand", other.Name, slice.Name)
		}
	}
	return fmt.Sprintf("nothing to merge into %s", slice.Name)
}

// addForeign adds a slice that carries the labels of ours and belongs to
// another client, or is of a type that no controller writes.
func (h hand) addForeign() string {
	slice := &discovery.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("foreign-%d", h.store.names), Namespace: namespace,
			Labels: map[string]string{discovery.LabelServiceName: h.service, discovery.LabelManagedBy: h.managedBy},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "v1", Kind: pick(h.dice, "Service", "Endpoints", "ConfigMap"), Name: h.service, UID: "foreign-uid", Controller: ptr.To(true),
			}},
		},
		AddressType: pick(h.dice, discovery.AddressTypeIPv4, discovery.AddressTypeIPv6, discovery.AddressTypeFQDN),
		Endpoints:   []discovery.Endpoint{},
		Ports:       []discovery.EndpointPort{},
	}
	if h.percent(60) {
		h.addEndpoint(slice)
	}
	h.store.add(slice)
	return fmt.Sprintf("foreign %s slice %s added", slice.AddressType, slice.Name)
}
