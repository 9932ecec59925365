// Builds the laboratory's device plugin: main.go beside this file, and the kubelet's own definition of its API.
module seatrial.dev/testbed/device-plugin

go 1.25.0

tool seatrial.dev/testbed/device-plugin

require (
	google.golang.org/grpc v1.72.2
	k8s.io/kubelet v0.35.8
)

require (
	golang.org/x/net v0.56.0 // indirect
	golang.org/x/sys v0.46.0 // indirect
	golang.org/x/text v0.39.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20250528174236-200df99c418a // indirect
	google.golang.org/protobuf v1.36.12-0.20260120151049-f2248ac996af // indirect
)
