package main

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

func (w *serviceWorld) protocol() corev1.Protocol {
	return pick(w.dice, corev1.ProtocolTCP, corev1.ProtocolTCP, corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP)
}

func (w *serviceWorld) appProtocol() *string {
	return pickWeighted(w.dice, []weighted[*string]{
		{24, nil}, {4, ptr.To("http")}, {4, ptr.To("kubernetes.io/h2c")}, {1, ptr.To("")},
	})
}

func (w *serviceWorld) servicePorts() []corev1.ServicePort {
	if w.service.Spec.ClusterIP == corev1.ClusterIPNone && w.percent(35) {
		return nil
	}
	ports := []corev1.ServicePort{}
	for i := range pick(w.dice, 1, 1, 2, 2, 3, 4) {
		ports = append(ports, w.servicePort(i))
	}
	if w.percent(3) {
		// The same port once more.
		ports = append(ports, ports[w.IntN(len(ports))])
	}
	return ports
}

func (w *serviceWorld) servicePort(i int) corev1.ServicePort {
	port := corev1.ServicePort{
		Name:        pickWeighted(w.dice, []weighted[string]{{24, fmt.Sprintf("p%d", i)}, {1, "p0"}, {1, ""}}),
		Protocol:    w.protocol(),
		AppProtocol: w.appProtocol(),
		Port:        int32(80 + i),
	}
	port.TargetPort = pickWeighted(w.dice, []weighted[intstr.IntOrString]{
		{5, intstr.FromInt32(int32(8080 + i))},
		{4, intstr.FromString("http")},
		{2, intstr.FromString("metrics")},
		{2, intstr.FromString("side")},
		{1, intstr.FromString("setup")},
		{1, intstr.FromString("absent")},
		{1, intstr.FromInt32(0)},
	})
	return port
}

// changePort alters one port in one respect, or how many there are.
func (w *serviceWorld) changePort() string {
	ports := w.service.Spec.Ports
	if len(ports) == 0 || w.percent(15) {
		w.service.Spec.Ports = append(ports, w.servicePort(len(ports)))
		return "service port added"
	}
	at := w.IntN(len(ports))
	port := &ports[at]
	switch w.IntN(7) {
	case 0:
		port.Name += "x"
		return "service port renamed"
	case 1:
		port.TargetPort = w.servicePort(at).TargetPort
		return "service port retargeted"
	case 2:
		port.Protocol = w.protocol()
		return "protocol of a service port changed"
	case 3:
		port.AppProtocol = w.appProtocol()
		return "appProtocol of a service port changed"
	case 4:
		w.service.Spec.Ports = append(ports[:at], ports[at+1:]...)
		return "service port removed"
	case 5:
		w.Shuffle(len(ports), func(i, j int) { ports[i], ports[j] = ports[j], ports[i] })
		return "service ports reordered"
	default:
		w.service.Spec.Ports = w.servicePorts()
		return "service ports replaced"
	}
}

// containers of a pod: the ports behind a name depend on the template, some
// templates lack a name or have it twice, and init containers take part only
// when they keep running.
func (w *serviceWorld) containers(spec *corev1.PodSpec) {
	template := w.template
	if w.percent(10) {
		template = w.IntN(1000)
	}
	shift := int32(template % 3)
	main := corev1.Container{Name: "main"}
	if template%7 != 0 {
		main.Ports = append(main.Ports, corev1.ContainerPort{Name: "http", ContainerPort: 8080 + shift, Protocol: corev1.ProtocolTCP})
	}
	if template%5 == 0 {
		main.Ports = append(main.Ports, corev1.ContainerPort{Name: "http", ContainerPort: 9999, Protocol: corev1.ProtocolTCP})
	}
	if template%2 == 0 {
		main.Ports = append(main.Ports, corev1.ContainerPort{Name: "http", ContainerPort: 8081, Protocol: corev1.ProtocolUDP})
	}
	if template%11 == 0 {
		main.Ports = append(main.Ports, corev1.ContainerPort{ContainerPort: 7070, Protocol: corev1.ProtocolTCP})
	}
	spec.Containers = []corev1.Container{main}
	if template%3 != 0 {
		spec.Containers = append(spec.Containers, corev1.Container{Name: "second", Ports: []corev1.ContainerPort{
			{Name: "metrics", ContainerPort: 9090, Protocol: corev1.ProtocolTCP},
			{Name: "http", ContainerPort: 9991, Protocol: corev1.ProtocolSCTP},
		}})
	}
	if template%4 < 3 {
		sidecar := corev1.Container{Name: "sidecar", Ports: []corev1.ContainerPort{
			{Name: "side", ContainerPort: 15001, Protocol: corev1.ProtocolTCP},
			{Name: "http", ContainerPort: 15002, Protocol: corev1.ProtocolTCP},
		}}
		if template%4 != 0 {
			sidecar.RestartPolicy = ptr.To(corev1.ContainerRestartPolicyAlways)
		}
		setup := corev1.Container{Name: "setup", Ports: []corev1.ContainerPort{
			{Name: "setup", ContainerPort: 1111, Protocol: corev1.ProtocolTCP},
			{Name: "side", ContainerPort: 1112, Protocol: corev1.ProtocolTCP},
		}}
		if template%13 == 0 {
			setup.RestartPolicy = ptr.To(corev1.ContainerRestartPolicyOnFailure)
		}
		spec.InitContainers = []corev1.Container{setup, sidecar}
	}
}
