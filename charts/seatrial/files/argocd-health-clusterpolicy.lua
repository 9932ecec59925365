-- How well a ClusterPolicy is, for Argo CD: the text of `resource.customizations.health.nvidia.com_ClusterPolicy` in argocd-cm.
--   Healthy      everything is ready; or DaemonSets are OnDelete, and operands wait for their turn, as they should
--   Degraded     the operator failed at something, or refuses the ClusterPolicy
--   Progressing  the operator is at work
-- Where operands move node by node, the operator says notReady until the last node has followed. That may be days, and a sync
-- wave that waited so long would hold up every commit behind it, the way back as well: so it is no reason to wait.
-- Argo CD gives a check no library: what is in `string` or `table` is not to be had here.
local function failure()
  if obj.status.conditions ~= nil then
    for _, each in ipairs(obj.status.conditions) do
      if each.type == "Error" and each.status == "True" then
        return each
      end
    end
  end
  return nil
end

local function rollout()
  local note = (obj.metadata.annotations or {})["seatrial.dev/published"]
  return note ~= nil and "rollout " .. note or "a rollout"
end

if obj.status == nil or obj.status.state == nil or obj.status.state == "" then
  return {status = "Progressing", message = "The operator has not looked at it yet"}
end
if obj.status.state == "ready" then
  return {status = "Healthy", message = "Every operand is ready"}
end
local failed = failure()
local words = failed ~= nil and failed.message or obj.status.state
if obj.status.state == "ignored" or (failed ~= nil and failed.reason == "ReconcileFailed") then
  return {status = "Degraded", message = words}
end
local is_quiet = obj.spec.daemonsets ~= nil and obj.spec.daemonsets.updateStrategy == "OnDelete"
if is_quiet and failed ~= nil and failed.reason == "OperandNotReady" then
  return {
    status = "Healthy",
    message = "notReady, as expected during the bake and the waves of " .. rollout() .. " (`seatrial status`): " .. words,
  }
end
return {status = "Progressing", message = words}
