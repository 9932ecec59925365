// Brings the definition of a NodeMaintenance; nothing is built from it. The maintenance operator's own module is not
// served by the registry, and its api module has the Go types but no definition. The library that asks for maintenances
// carries the definition for its own tests, so it comes from there.
module seatrial.dev/testbed/maintenance-operator

go 1.25.0

require github.com/NVIDIA/k8s-operator-libs v0.0.0-20251027171627-45ccd0c3dd32
