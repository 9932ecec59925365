// Brings the definitions of OLM's kinds (ClusterServiceVersion, Subscription, InstallPlan); nothing is built from it.
module seatrial.dev/testbed/olm

go 1.25.0

require github.com/operator-framework/api v0.32.0
