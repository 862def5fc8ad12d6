package main

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func (w *serviceWorld) addPod() {
	w.podNumber++
	w.pods = append(w.pods, w.newPod(fmt.Sprintf("web-%d", w.podNumber)))
}

func (w *serviceWorld) newPod(name string) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, UID: w.newUID("pod"), Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{NodeName: w.nodeOfPod(), RestartPolicy: corev1.RestartPolicyAlways},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
	w.containers(&pod.Spec)
	pod.Spec.HostNetwork = w.percent(12)
	if w.percent(15) {
		pod.Spec.Hostname = name
		pod.Spec.Subdomain = pick(w.dice, w.service.Name, w.service.Name, "other")
	}
	w.giveAddresses(pod)
	ready := 80
	if w.tame {
		ready = 96
	}
	w.setReady(pod, w.percent(ready))
	if !w.tame {
		w.age(pod)
	}
	return pod
}

func (w *serviceWorld) nodeOfPod() string {
	stray := 3
	if w.tame {
		stray = 0
	}
	switch {
	case w.percent(stray):
		return pick(w.dice, "node-gone", "")
	case len(w.nodes) == 0:
		return ""
	default:
		return w.nodes[w.IntN(len(w.nodes))].Name
	}
}

// giveAddresses: most pods have both families, in either order; pods on the
// host's network share the addresses of the node.
func (w *serviceWorld) giveAddresses(pod *corev1.Pod) {
	number := w.podNumber + 256*w.IntN(2)
	v4, v6 := fmt.Sprintf("10.1.%d.%d", number/256, number%256), fmt.Sprintf("fd00:1::%x", number)
	if pod.Spec.HostNetwork {
		v4, v6 = "192.168.7."+lastDigits(pod.Spec.NodeName), "fd00:7::"+lastDigits(pod.Spec.NodeName)
	}
	addresses := pickWeighted(w.dice, []weighted[[]string]{
		{8, []string{v4, v6}}, {3, []string{v6, v4}}, {4, []string{v4}}, {2, []string{v6}},
		{1, nil}, {1, []string{v4, "10.2.0.1", v6, "fd00:2::1"}},
	})
	if w.tame {
		addresses = []string{v4, v6}
	}
	if w.oddAddresses && w.percent(30) {
		addresses = []string{pick(w.dice, "010.001.000.00"+lastDigits(pod.Name), "FD00:0001:0:0::0A", "::ffff:10.1.9.9", "fe80::1%eth0", "nonsense", "")}
	}
	pod.Status.PodIP, pod.Status.PodIPs = "", nil
	for _, address := range addresses {
		pod.Status.PodIPs = append(pod.Status.PodIPs, corev1.PodIP{IP: address})
	}
	if len(addresses) > 0 {
		pod.Status.PodIP = addresses[0]
	}
}

func lastDigits(name string) string {
	if name == "" || name[len(name)-1] < '0' || name[len(name)-1] > '9' {
		return "9"
	}
	return name[len(name)-1:]
}

func (w *serviceWorld) setReady(pod *corev1.Pod, ready bool) {
	status := corev1.ConditionTrue
	if !ready {
		status = pick(w.dice, corev1.ConditionFalse, corev1.ConditionFalse, corev1.ConditionUnknown)
	}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: status}}
	if !ready && w.percent(10) {
		pod.Status.Conditions = nil
	}
}

// age puts a few pods into the later parts of their lives.
func (w *serviceWorld) age(pod *corev1.Pod) {
	if w.percent(6) {
		pod.Status.Phase = pick(w.dice, corev1.PodSucceeded, corev1.PodFailed, corev1.PodPending, corev1.PodUnknown)
		if w.percent(30) {
			pod.Spec.RestartPolicy = pick(w.dice, corev1.RestartPolicyNever, corev1.RestartPolicyOnFailure)
		}
	}
	if w.percent(6) {
		terminate(pod)
	}
}

func terminate(pod *corev1.Pod) {
	pod.DeletionTimestamp = &metav1.Time{Time: time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)}
	pod.DeletionGracePeriodSeconds = ptr.To[int64](30)
}

// eachOfSome changes a few pods and returns how many.
func (w *serviceWorld) eachOfSome(change string, do func(*corev1.Pod)) string {
	chosen := w.some(w.few(), len(w.pods))
	slices.Sort(chosen)
	for _, at := range chosen {
		do(w.pods[at])
	}
	return fmt.Sprintf("%s (%d pods)", change, len(chosen))
}

func (w *serviceWorld) few() int {
	return pickWeighted(w.dice, []weighted[int]{
		{5, 1}, {4, w.between(2, 4)}, {2, w.between(5, 12)}, {1, len(w.pods)},
	})
}

func (w *serviceWorld) addPods() string {
	count := pickWeighted(w.dice, []weighted[int]{{5, 1}, {4, w.between(2, 5)}, {2, w.between(6, 15)}})
	for range count {
		w.addPod()
	}
	return fmt.Sprintf("pods added (%d pods)", count)
}

func (w *serviceWorld) removePods() string {
	gone := w.some(w.few(), len(w.pods))
	left := []*corev1.Pod{}
	for i, pod := range w.pods {
		if !slices.Contains(gone, i) {
			left = append(left, pod)
		}
	}
	w.pods = left
	return fmt.Sprintf("pods removed (%d pods)", len(gone))
}

func (w *serviceWorld) removeEveryPod() string {
	w.pods = nil
	return "every pod removed"
}

// recreatePods is what a StatefulSet does: the same name, another pod.
func (w *serviceWorld) recreatePods() string {
	return w.eachOfSome("pods recreated under their names", func(pod *corev1.Pod) {
		w.podNumber++
		again := w.newPod(pod.Name)
		if w.percent(40) {
			again.Status.PodIP, again.Status.PodIPs = pod.Status.PodIP, pod.Status.PodIPs
			again.Spec.NodeName, again.Spec.HostNetwork = pod.Spec.NodeName, pod.Spec.HostNetwork
		}
		*pod = *again
	})
}

// rollPods replaces pods by new ones of another template.
func (w *serviceWorld) rollPods() string {
	w.template = w.IntN(1000)
	rolled := w.eachOfSome("new pod template rolled out", func(pod *corev1.Pod) {
		w.podNumber++
		*pod = *w.newPod(fmt.Sprintf("web-%d", w.podNumber))
	})
	return rolled
}

func (w *serviceWorld) flipReadiness() string {
	return w.eachOfSome("readiness flipped", func(pod *corev1.Pod) {
		ready := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
		w.setReady(pod, !ready)
	})
}

func (w *serviceWorld) terminatePods() string { return w.eachOfSome("pods terminating", terminate) }

func (w *serviceWorld) finishPods() string {
	return w.eachOfSome("pods finished", func(pod *corev1.Pod) {
		pod.Status.Phase = pick(w.dice, corev1.PodSucceeded, corev1.PodFailed)
	})
}

func (w *serviceWorld) readdressPods() string {
	return w.eachOfSome("pods given other addresses", func(pod *corev1.Pod) {
		w.podNumber++
		w.giveAddresses(pod)
	})
}

func (w *serviceWorld) reorderPods() string {
	w.Shuffle(len(w.pods), func(i, j int) { w.pods[i], w.pods[j] = w.pods[j], w.pods[i] })
	return "pods listed in another order"
}
