-- How well a GPURollout is, for Argo CD: the text of `resource.customizations.health.seatrial.dev_GPURollout` in argocd-cm.
--   Healthy      it ended, and every node runs what was asked for
--   Degraded     something failed, or it was undone
--   Suspended    it waits for a person; the message says what for
--   Progressing  it goes on by itself, or the controller has not seen the last change yet
local function condition(name)
  if obj.status ~= nil and obj.status.conditions ~= nil then
    for _, each in ipairs(obj.status.conditions) do
      if each.type == name then
        return each
      end
    end
  end
  return nil
end

local function told(each)
  if each.message ~= nil and each.message ~= "" then
    return each.reason .. ": " .. each.message
  end
  return each.reason
end

local progressing, healthy, ended = condition("Progressing"), condition("Healthy"), condition("Ended")
if progressing == nil or healthy == nil or ended == nil then
  return {status = "Progressing", message = "The controller has not looked at it yet"}
end
if progressing.observedGeneration ~= nil and progressing.observedGeneration ~= obj.metadata.generation then
  return {status = "Progressing", message = "The controller has not seen the last change yet"}
end
if healthy.status == "False" then
  return {status = "Degraded", message = told(healthy)}
end
if ended.status == "True" then
  return {status = "Healthy", message = told(ended)}
end
if progressing.status == "False" then
  return {status = "Suspended", message = told(progressing)}
end
return {status = "Progressing", message = told(progressing)}
