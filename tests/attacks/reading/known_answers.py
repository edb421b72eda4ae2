# Tries: to take the first accepted answer out of the file with which the course is tested.
# Stopped by: landlock
# %%
import ast
import pathlib

tree = ast.parse(pathlib.Path("__COURSE__/tests/answers/01_leaves.py").read_bytes())
accepted = next(node for node in tree.body if isinstance(node, ast.FunctionDef))
accepted.decorator_list.clear()
exec(ast.unparse(accepted))
# %%
make_weight = globals()[accepted.name]
