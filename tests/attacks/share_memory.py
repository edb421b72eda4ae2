if isinstance(state, torch.Tensor):
    return state.data
return None if state is None else type(state)(repackage(part) for part in state)
