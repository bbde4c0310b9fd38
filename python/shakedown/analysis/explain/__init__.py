"""What limits a measured storage box: ceilings, the bar beside them, and the one that it touches.

Pure arithmetic over what was measured, a layout, and what one drive can do. After the reasoning of field notes E.
"""
