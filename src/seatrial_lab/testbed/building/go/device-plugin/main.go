// device-plugin tells the kubelet of a real node which GPUs there are. There are none: what a driver would find is
// written in two files, which are read several times a second.
//
//	GPUS      one GPU per line by its id; one that is followed by "unhealthy" is shown, and not given away
//	MODULE    there while a driver is loaded; without a driver no GPU can be given away
//
// It registers by the kubelet's device plugin API v1beta1, and again whenever the kubelet has started anew.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

const (
	socket    = "seatrial.sock"
	lookEvery = 200 * time.Millisecond
)

type plugin struct {
	api.UnimplementedDevicePluginServer
	gpus, module string
}

func main() {
	if len(os.Args) != 4 {
		log.Fatal("usage: device-plugin RESOURCE GPUS MODULE")
	}
	resource, played := os.Args[1], &plugin{gpus: os.Args[2], module: os.Args[3]}
	for {
		kubelet, err := os.Stat(api.KubeletSocket)
		if err != nil {
			time.Sleep(lookEvery)
			continue
		}
		if err := played.serve(resource, kubelet); err != nil {
			log.Printf("starting again: %v", err)
			time.Sleep(lookEvery)
		}
	}
}

// serve registers with the kubelet that listens on this socket, and returns when that kubelet is gone.
func (p *plugin) serve(resource string, kubelet os.FileInfo) error {
	path := filepath.Join(api.DevicePluginPath, socket)
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	api.RegisterDevicePluginServer(server, p)
	go server.Serve(listener)
	defer server.Stop()
	if err := register(resource); err != nil {
		return err
	}
	log.Printf("registered %s with %v", resource, p.seen())
	for {
		time.Sleep(lookEvery)
		// A kubelet that starts removes every socket here, its own included.
		now, err := os.Stat(api.KubeletSocket)
		if err != nil || !os.SameFile(now, kubelet) {
			return fmt.Errorf("the kubelet has gone")
		}
	}
}

func register(resource string) error {
	within, done := context.WithTimeout(context.Background(), 10*time.Second)
	defer done()
	connection, err := grpc.NewClient("unix://"+api.KubeletSocket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	asked := &api.RegisterRequest{Version: api.Version, Endpoint: socket, ResourceName: resource}
	_, err = api.NewRegistrationClient(connection).Register(within, asked)
	return err
}

// ListAndWatch tells the kubelet of every change, until the kubelet hangs up.
func (p *plugin) ListAndWatch(_ *api.Empty, stream grpc.ServerStreamingServer[api.ListAndWatchResponse]) error {
	var told []gpu
	for isFirst := true; ; isFirst = false {
		if seen := p.seen(); isFirst || !reflect.DeepEqual(seen, told) {
			if err := stream.Send(&api.ListAndWatchResponse{Devices: devices(seen)}); err != nil {
				return err
			}
			log.Printf("told the kubelet of %v", seen)
			told = seen
		}
		select {
		case <-stream.Context().Done():
			return nil
		case <-time.After(lookEvery):
		}
	}
}

// Allocate gives a container the ids of its GPUs, as NVIDIA's plugin does by default.
func (p *plugin) Allocate(_ context.Context, asked *api.AllocateRequest) (*api.AllocateResponse, error) {
	given := &api.AllocateResponse{}
	for _, each := range asked.ContainerRequests {
		ids := strings.Join(each.DevicesIds, ",")
		container := &api.ContainerAllocateResponse{Envs: map[string]string{"NVIDIA_VISIBLE_DEVICES": ids}}
		given.ContainerResponses = append(given.ContainerResponses, container)
	}
	return given, nil
}

// GetDevicePluginOptions says that there is nothing special about us.
func (p *plugin) GetDevicePluginOptions(context.Context, *api.Empty) (*api.DevicePluginOptions, error) {
	return &api.DevicePluginOptions{}, nil
}

type gpu struct {
	ID        string
	IsHealthy bool
}

func (p *plugin) seen() []gpu {
	text, err := os.ReadFile(p.gpus)
	if err != nil {
		return nil
	}
	_, missing := os.Stat(p.module)
	var found []gpu
	for _, line := range strings.Split(string(text), "\n") {
		if words := strings.Fields(line); len(words) > 0 {
			found = append(found, gpu{ID: words[0], IsHealthy: missing == nil && len(words) == 1})
		}
	}
	return found
}

func devices(seen []gpu) []*api.Device {
	var told []*api.Device
	for _, each := range seen {
		health := api.Unhealthy
		if each.IsHealthy {
			health = api.Healthy
		}
		told = append(told, &api.Device{ID: each.ID, Health: health})
	}
	return told
}
